//go:build servers

package pgsink

import (
	"context"
	"testing"

	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

// The suite on a real server, by Open and a URL as a config has it.
func TestSuite(t *testing.T) {
	open := func(t *testing.T) sinktest.RowFixture {
		t.Parallel()
		b := newBase(t, theServer(t))
		return sinktest.RowFixture{Sink: b.open(t), Visible: b.visible}
	}
	sinktest.RunRows(t, open)
	sinktest.RunRowConditions(t, open)
}

// The suite on tables that have a child for each partition, which a config asks for.
func TestSuitePartitioned(t *testing.T) {
	open := func(t *testing.T) sinktest.RowFixture {
		t.Parallel()
		b := newBase(t, theServer(t))
		return sinktest.RowFixture{Sink: partitioned{b.open(t)}, Visible: b.visible}
	}
	sinktest.RunRows(t, open)
	sinktest.RunRowConditions(t, open)
}

// partitioned puts the suite's parts into tables with partitions, but for those without periods.
type partitioned struct{ *Sink }

func (s partitioned) Put(ctx context.Context, p sinks.Part) (sinks.Receipt, error) {
	wanted := *p.Schema
	wanted.Partitioned = wanted.Period != "whole"
	wanted.Indexes = [][]string{{"number"}}
	p.Schema = &wanted
	return s.Sink.Put(ctx, p)
}
