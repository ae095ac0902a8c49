//go:build !iceberg

package main

import (
	"context"
	"fmt"

	"github.com/reportferry/reportferry/sinks"
)

// withIceberg reports whether this build can write Iceberg tables. The library for them doubles the
// size of the binary, so it is left out unless a build asks for it.
const withIceberg = false

// openIceberg returns an error that says how to get a build with Iceberg.
func openIceberg(_ context.Context, rawURL string) (sinks.Sink, error) {
	return nil, fmt.Errorf("open sink %s: this build leaves Iceberg out; get one that has it by `go build -tags "+
		"iceberg ./cmd/reportferry`, "+
		"or take the image whose tag ends with -iceberg", sinks.Redact(rawURL))
}
