package partition

import (
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// A record says since when its content has been there, and whether it replaced a final one. A
// column that was added isn't another number, unless a sum moved with it; another meaning begins
// anew; and once a final partition has moved, its records go on saying so.
func TestContentSince(t *testing.T) {
	s := newShelf()
	p := newPublisher(t, ledger.Target{Name: "s", Sink: s})
	day := date("2026-01-01")
	for i, c := range []struct {
		hash, shape, cost string
		reason            refresh.Reason
		finality          string
		since             int // the step whose fetch it is
		moved             bool
	}{
		{"A", "x", "1.0", refresh.Missing, refresh.Restating, 0, false},
		{"A", "x", "1.0", refresh.Lookback, refresh.Restating, 0, false},
		{"B", "x", "2.0", refresh.Lookback, refresh.Final, 2, false},
		{"B", "x", "2.0", refresh.Forced, refresh.Final, 2, false},
		{"C", "xy", "2.000000", refresh.NewColumns, refresh.Final, 4, false},
		{"D", "xy", "3", refresh.Forced, refresh.Final, 5, true},
		{"D", "xy", "3", refresh.Forced, refresh.Final, 5, true},
		{"E", "xyz", "3", refresh.NewColumns, refresh.Final, 7, true},
		{"F", "euro", "2", refresh.Rebased, refresh.Final, 8, false},
		{"G", "euro and more", "2.5", refresh.NewColumns, refresh.Final, 9, true},
	} {
		to := openAt(t, p.ledger, p.target...)
		fetched := func(step int) time.Time { return time.Date(2026, 1, 2+step, 6, 0, 0, 0, time.UTC) }
		_, _, err := publishIn(t, to, Publication{
			Part: sinks.Part{Table: "installs", Partition: day, Rows: 3, Hash: c.hash}, Shape: c.shape,
			Fetched: fetched(i),
			Reason:  c.reason, Finality: c.finality, Sums: map[string]string{"cost": c.cost},
		})
		check(t, err)
		if e := p.recorded(); !e.Since.Equal(fetched(c.since)) || e.Moved != c.moved || e.Finality != c.finality {
			t.Errorf("step %d: since %v, want that of step %d; moved %v; %s", i, e.Since, c.since, e.Moved, e.Finality)
		}
	}
}

// Deliver judges each fetch by the definition's rules, and counts the finals that moved.
func TestDeliverCountsFinalsThatMoved(t *testing.T) {
	p := newPublisher(t, ledger.Target{Name: "s", Sink: newShelf()})
	d := Definition{Schema: &sinks.Schema{}, Rules: refresh.Rules{Period: refresh.Day, Location: time.UTC,
		FinalAfter: map[string]int{"cost": 2}}}
	day := date("2026-01-01") // is over on 01-02, and final on 01-04
	for _, c := range []struct {
		fetched, hash, finality string
		moved                   int
	}{
		{"2026-01-01T06:00", "A", refresh.Partial, 0},
		{"2026-01-02T06:00", "B", refresh.Restating, 0},
		{"2026-01-03T23:59", "C", refresh.Restating, 0},
		{"2026-01-04T00:00", "D", refresh.Final, 0},
		{"2026-01-05T00:00", "D", refresh.Final, 0},
		{"2026-01-06T00:00", "E", refresh.Final, 1},
		{"2026-01-07T00:00", "E", refresh.Final, 0},
		{"2026-01-08T00:00", "F", refresh.Final, 1},
	} {
		to := openAt(t, p.ledger, p.target...)
		w := refresh.Window{Due: []refresh.Due{{Partition: day, Seq: 1 << 20}}}
		out, err := deliverIn(t, to, d, w, Answer{
			Fetched: moment(c.fetched), Parts: []table.Part{{Partition: day, Rows: 1, Hash: c.hash}},
		})
		check(t, err)
		if e := p.recorded(); e.Finality != c.finality || out.Moved != c.moved {
			t.Errorf("fetched %s: %s, %d moved; want %s, %d", c.fetched, e.Finality, out.Moved, c.finality, c.moved)
		}
	}
}

// Sums are the same but for what adding doubles rounds off; exact ones differ by their last digit.
func TestSumsAgree(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"1234.500000", "1234.5", true},
		{"1234.500001", "1234.5", false},
		{"12345678901234567", "12345678901234568", false},
		{"1234.5000000000002", "1234.500000", true},
		{"1234.500000", "1234.4999999999998", true},
		{"1.2345e+21", "1234500000000000000000", true},
		{"1234.5001000000002", "1234.500000", false},
		{"0.0000000000001", "0", false},
		{"-1234.5000000000002", "-1234.5", true},
		{"no number", "1", true},
	} {
		if got := SumsAgree(map[string]string{"x": c.a, "y": "1"}, map[string]string{"x": c.b, "z": "2"}); got !=
			c.same {
			t.Errorf("%s and %s agree: %t, want %t", c.a, c.b, got, c.same)
		}
	}
}
