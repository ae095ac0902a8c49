//go:build !iceberg

package main

import (
	"context"
	"fmt"

	"github.com/reportferry/reportferry/sinks"
)

// withIceberg tells whether this build can write Iceberg tables. The library for them makes a
// binary twice as large, so that only those have it who ask for it.
const withIceberg = false

// openIceberg stands for what this build lacks, and says how to get it.
func openIceberg(_ context.Context, rawURL string) (sinks.Sink, error) {
	return nil, fmt.Errorf("open sink %s: this build leaves Iceberg out; get one that has it by `go build -tags "+
		"iceberg ./cmd/reportferry`, "+
		"or take the image whose tag ends with -iceberg", sinks.Redact(rawURL))
}
