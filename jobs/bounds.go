package jobs

import (
	"context"
	"sync/atomic"
)

// jobsAtOnce is how many jobs may be planned at once, and also how many may be finished at once.
// Both mostly wait for the ledger's bucket.
const jobsAtOnce = 16

// mostRecords is how many of the ledger's records may stay in memory from the plans to the units:
// those of two tables of ten years of days, or of a thousand small ones. A record takes 1.7 kB, and
// to read a table again takes a listing, its index, and the months that have changed since.
const mostRecords = 1 << 13

// Bounds are how much is done and kept at once by all runs of a process.
type Bounds struct {
	// A job takes a place in planning and ending, a unit one in doing. A full channel makes it
	// wait.
	planning, doing, ending chan struct{}

	kept atomic.Int64 // how many of the ledger's records the plans keep in memory
}

// NewBounds returns bounds that let so many units be done at once.
func NewBounds(units int) *Bounds {
	return &Bounds{planning: make(chan struct{}, jobsAtOnce), doing: make(chan struct{}, max(1, units)),
		ending: make(chan struct{}, jobsAtOnce)}
}

// enter waits for a free place, and returns the function that gives it back. It fails if ctx ends
// first.
func enter(ctx context.Context, places chan struct{}) (leave func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// keep tells whether so many records more may stay in memory, and counts them if so.
func (b *Bounds) keep(records int) bool {
	if b.kept.Add(int64(records)) <= mostRecords {
		return true
	}
	b.forget(records)
	return false
}

// forget subtracts records that aren't in memory any more.
func (b *Bounds) forget(records int) { b.kept.Add(-int64(records)) }
