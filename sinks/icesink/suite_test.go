package icesink

import (
	"testing"

	"github.com/reportferry/reportferry/sinks/sinktest"
)

// The suite on a catalog in a file, by Open and a URL as a config has it.
func TestSuite(t *testing.T) {
	open := func(t *testing.T) sinktest.RowFixture {
		t.Parallel()
		s := openURL(t, newURL(t))
		return sinktest.RowFixture{Sink: s, Visible: func(t *testing.T) []sinktest.Row { return visible(t, s) }}
	}
	sinktest.RunRows(t, open)
	sinktest.RunRowConditions(t, open)
}
