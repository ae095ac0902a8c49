package sinktest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/sinks"
)

// RunRowConditions tests conditional puts of a sink whose readers read rows; RunRows has the other
// tests for such a sink. It must be a sinks.Conditional, which has ConditionOf and List.
func RunRowConditions(t *testing.T, open func(t *testing.T) RowFixture) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *rowPlace, sinks.Conditional)
	}{
		{"a late put is refused", rowConditions},
		{"one of several writers wins", rowConditionsRace},
		{"a listing names versions", rowsListed},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := open(t)
			p := &rowPlace{place: place{Fixture: Fixture{Sink: f.Sink}}, visible: f.Visible, rows: map[*part][]Row{}}
			sink, ok := f.Sink.(sinks.Conditional)
			if !ok {
				t.Fatalf("%T lacks ConditionOf or List", f.Sink)
			}
			test.run(t, p, sink)
			p.checkReaders(t)
		})
	}
}

// rowConditions checks that a put whose condition isn't met any more is refused, so that what
// readers see never goes back to older rows.
func rowConditions(t *testing.T, p *rowPlace, sink sinks.Conditional) {
	for i, shape := range shapes {
		first, second, late := p.part(table, day, byte(10*i+1), shape[0], shape[1]),
			p.part(table, day, byte(10*i+2), 7, 10), p.part(table, day, byte(10*i+3), shape[0], shape[1])
		over := p.conditionNow(t, sink)
		begun := p.mustPutRows(t, first, over)
		p.mustRefuseRows(t, late, over, first) // it began before the first put
		done := p.mustPutRows(t, second, sinks.Condition{Version: begun.Version})
		p.mustRefuseRows(t, late, sinks.Condition{Version: begun.Version}, second)
		p.mustRefuseRows(t, late, sinks.Condition{Absent: true}, second)
		p.mustRefuseRows(t, second, sinks.Condition{Version: begun.Version}, second) // the same put, doubled
		if over := p.conditionNow(t, sink); over.Version != done.Version {
			t.Errorf("a look gives %+v, the receipt says version %q", over, done.Version)
		}
	}
}

// rowConditionsRace has several writers replace one version at the same time: one of them wins, and
// readers see what it put.
func rowConditionsRace(t *testing.T, p *rowPlace, _ sinks.Conditional) {
	over := sinks.Condition{Version: p.mustPut(t, p.part(table, day, 1, 50, 10)).Version}
	for round := range 5 {
		var mu sync.Mutex
		var won *part
		var version string
		var wg sync.WaitGroup
		for w := range 4 {
			writer := p.part(table, day, byte(10+4*round+w), 50+w, 10)
			writer.Over = over
			wg.Go(func() {
				receipt, err := p.Sink.Put(context.Background(), writer.Part)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && won != nil:
					t.Error("two writers won")
				case err == nil:
					won, version = writer, receipt.Version
				case !errors.Is(err, sinks.ErrConflict):
					t.Errorf("a writer that was too late: %v", err)
				}
			})
		}
		wg.Wait()
		if won == nil {
			t.Fatal("no writer won")
		}
		p.mustShow(t, won)
		over.Version = version
	}
}

// rowsListed checks that a listing has the keys, sizes and versions that receipts have.
func rowsListed(t *testing.T, p *rowPlace, sink sinks.Conditional) {
	want := map[string]sinks.Receipt{}
	for i, date := range []string{day, "2026-02-01", "2026-02-02", day} {
		r := p.mustPut(t, p.part(table, date, byte(i), i, 10))
		want[r.Key] = r
	}
	p.mustPut(t, p.part("installs2", day, 9, 1, 10))
	objects, err := sink.List(t.Context(), table)
	if err != nil || len(objects) != len(want) {
		t.Errorf("%d of %d are listed: %v", len(objects), len(want), err)
	}
	for _, o := range objects {
		if r := want[o.Key]; o.Size != r.Size || o.Version != r.Version || o.Version == "" {
			t.Errorf("listed is %+v, the receipt says %+v", o, r)
		}
	}
	if none, err := sink.List(t.Context(), "sessions"); err != nil || len(none) > 0 {
		t.Errorf("a table that isn't there: %v, %v", none, err)
	}
}

// conditionNow returns the condition that allows what the partition day of table holds now.
func (p *rowPlace) conditionNow(t *testing.T, sink sinks.Conditional) sinks.Condition {
	t.Helper()
	date, err := civil.ParseDate(day)
	if err != nil {
		t.Fatal(err)
	}
	over, err := sink.ConditionOf(t.Context(), table, date, true)
	if err != nil {
		t.Fatal(err)
	}
	return over
}

// mustPutRows puts a part on a condition, and checks that its rows are visible.
func (p *rowPlace) mustPutRows(t *testing.T, part *part, over sinks.Condition) sinks.Receipt {
	t.Helper()
	part.Over = over
	receipt := p.mustPut(t, part)
	p.mustShow(t, part)
	return receipt
}

// mustRefuseRows checks that a put is refused because of its condition, and what is there stays.
func (p *rowPlace) mustRefuseRows(t *testing.T, late *part, over sinks.Condition, stays *part) {
	t.Helper()
	fresh := late.Part
	fresh.Over = over
	if _, err := p.Sink.Put(context.Background(), fresh); !errors.Is(err, sinks.ErrConflict) {
		t.Errorf("a late put over %+v: %v", over, err)
	}
	p.mustShow(t, stays)
}
