package main

import (
	"math"
	"os"
	"runtime/debug"
)

// heapLimit keeps the whole program under 150 MiB of resident memory with four windows in flight: the garbage collector
// works harder before the heap passes it, instead of letting it double. What isn't heap comes to about 35 MiB.
const heapLimit = 96 << 20

// limitHeap sets the limit unless GOMEMLIMIT says otherwise.
func limitHeap() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(heapLimit)
	}
}

// freeHeap takes the limit back where memory grows with what is kept: near a limit that is too low, the garbage collector
// takes half of the processor.
func freeHeap() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(math.MaxInt64)
	}
}
