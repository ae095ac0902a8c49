package partition

import (
	"testing"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// A record says since when its content has been there, and whether it replaced a final one. Another shape isn't another number,
// and once a final partition has moved, its records go on saying so.
func TestContentSince(t *testing.T) {
	s := newShelf()
	p := newPublisher(t, ledger.Target{Name: "s", Sink: s})
	day := date("2026-01-01")
	for i, c := range []struct {
		hash, shape, finality string
		since                 int // the step whose fetch it is
		moved                 bool
	}{
		{"A", "x", "restating", 0, false},
		{"A", "x", "restating", 0, false},
		{"B", "x", "final", 2, false},
		{"B", "x", "final", 2, false},
		{"C", "xy", "final", 4, false},
		{"D", "xy", "final", 5, true},
		{"D", "xy", "final", 5, true},
		{"E", "xyz", "final", 7, true},
	} {
		table := openAt(t, p.ledger, p.target...)
		base, _ := table.Record(day)
		if base.Seq > 0 {
			base.Finality = "restating"
			if i > 2 {
				base.Finality = final
			}
		}
		fetched := func(step int) time.Time { return time.Date(2026, 1, 2+step, 6, 0, 0, 0, time.UTC) }
		_, _, err := table.Publish(t.Context(), p.claim, Publication{
			Base: base, Part: sinks.Part{Table: "installs", Partition: day, Rows: 3, Hash: c.hash}, Shape: c.shape, Fetched: fetched(i),
		})
		check(t, err)
		if e := p.recorded(); !e.Since.Equal(fetched(c.since)) || e.Moved != c.moved {
			t.Errorf("step %d: since %v, want that of step %d; moved %v", i, e.Since, c.since, e.Moved)
		}
	}
}
