package sinktest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/sinks"
)

// RunRows runs the suite for a sink whose readers find rows: the cases of Run, in terms of rows.
// open makes a new place for every test and cleans up by t.Cleanup.
func RunRows(t *testing.T, open func(t *testing.T) RowFixture) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *rowPlace)
	}{
		{"put is visible", rowsVisible},
		{"put repeated is harmless", rowsRepeated},
		{"replacement there and back", rowsReplacement},
		{"partitions and tables are apart", rowsApart},
		{"a table without periods", rowsWhole},
		{"no rows", rowsNone},
		{"a big part", rowsBig},
		{"interrupted put leaves the old rows", rowsInterrupted},
		{"put under an ended context leaves the old rows", rowsEnded},
		{"failed read publishes nothing", rowsFailedRead},
		{"concurrent puts leave one whole part", rowsConcurrent},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := open(t)
			p := &rowPlace{place: place{Fixture: Fixture{Sink: f.Sink}}, visible: f.Visible, rows: map[*part][]Row{}}
			test.run(t, p)
			p.checkReaders(t)
		})
	}
}

// rowsVisible checks that readers find a part's rows, and what the receipt says.
func rowsVisible(t *testing.T, p *rowPlace) {
	a := p.part(table, day, 1, 20, 10)
	receipt := p.mustPut(t, a)
	p.mustShow(t, a)
	if receipt.Size != a.Size || receipt.Key == "" {
		t.Errorf("the receipt says %d bytes at %q, want %d", receipt.Size, receipt.Key, a.Size)
	}
	if receipt.Sink == "" || strings.Contains(receipt.Sink, "?") {
		t.Errorf("the receipt's sink is %q, want a URL without a query", receipt.Sink)
	}
}

// rowsRepeated puts the same part again and again.
func rowsRepeated(t *testing.T, p *rowPlace) {
	a := p.part(table, day, 1, 20, 10)
	first := p.mustPut(t, a)
	for range 3 {
		again := p.mustPut(t, a)
		if again.Version = first.Version; again != first { // a version may be new with each put
			t.Errorf("receipt %+v, the first was %+v", again, first)
		}
		p.mustShow(t, a)
	}
}

// rowsReplacement replaces a part, and then puts it back.
func rowsReplacement(t *testing.T, p *rowPlace) {
	a, b := p.part(table, day, 1, 20, 10), p.part(table, day, 2, 7, 10)
	for _, part := range []*part{a, b, a} {
		p.mustPut(t, part)
		p.mustShow(t, part)
	}
}

// rowsApart checks that a put changes no other partition and no other table.
func rowsApart(t *testing.T, p *rowPlace) {
	parts := []*part{
		p.part(table, day, 1, 10, 10), p.part(table, "2026-02-01", 2, 20, 10), p.part("installs2", day, 3, 30, 10),
		p.part("sessions", day, 4, 40, 10),
	}
	for i, part := range parts {
		p.mustPut(t, part)
		p.mustShow(t, parts[:i+1]...)
	}
	changed := p.part(table, "2026-02-01", 5, 50, 10)
	p.mustPut(t, changed)
	p.mustShow(t, parts[0], changed, parts[2], parts[3])
}

// rowsWhole puts parts of a table without periods, the last one without rows.
func rowsWhole(t *testing.T, p *rowPlace) {
	whole := sinks.Whole.String()
	a, b, other := p.part(table, whole, 1, 10, 10), p.part(table, whole, 2, 20, 10), p.part("sessions", day, 3, 5, 10)
	p.mustPut(t, a, other, b)
	p.mustShow(t, b, other)
	none := p.part(table, whole, 4, 0, 0)
	p.mustPut(t, none)
	p.mustShow(t, other)
}

// rowsNone checks that a part without rows clears its partition and no other.
func rowsNone(t *testing.T, p *rowPlace) {
	before, on, after := p.part(table, "2026-01-30", 1, 10, 10), p.part(table, day, 2, 10, 10),
		p.part(table, "2026-02-01", 3, 10, 10)
	none := p.part(table, day, 4, 0, 0)
	p.mustPut(t, none) // where nothing was
	p.mustShow(t)
	p.mustPut(t, before, on, after, none)
	p.mustShow(t, before, after)
	p.mustPut(t, on)
	p.mustShow(t, before, on, after)
}

// shapes are numbers of rows and widths of names. A part of the last one has 9 MiB, so that an
// upload in pieces has sent some.
var shapes = [][2]int{{1, 1}, {2000, 40}, {90, 105_000}}

// rowsBig replaces a part of at least 9 MiB by a small one.
func rowsBig(t *testing.T, p *rowPlace) {
	slow.Test(t)
	big, small := p.part(table, day, 1, shapes[2][0], shapes[2][1]), p.part(table, day, 2, 3, 10)
	if big.Size < 9<<20 {
		t.Fatalf("the big part has %d bytes", big.Size)
	}
	p.mustPut(t, big)
	p.mustShow(t, big)
	p.mustPut(t, small)
	p.mustShow(t, small)
}

// rowsInterrupted ends the context while the sink reads a part: the old rows stay visible.
func rowsInterrupted(t *testing.T, p *rowPlace) {
	old := p.part(table, day, 1, 100, 10)
	p.mustPut(t, old)
	for _, shape := range shapes {
		fresh := p.part(table, day, 2, shape[0], shape[1])
		size := int(fresh.Size)
		for _, at := range []int{0, size / 2, size - 1, size} {
			ctx, cancel := context.WithCancel(context.Background())
			again := p.part(table, day, 2, shape[0], shape[1])
			again.at, again.onRead = at, func() (bool, error) { cancel(); return false, nil }
			_, err := p.Sink.Put(ctx, again.Part)
			cancel()
			if !errors.Is(err, context.Canceled) {
				t.Errorf("a put of %d bytes interrupted at byte %d: %v", size, at, err)
			}
			p.mustShow(t, old)
		}
	}
	fresh := p.part(table, day, 3, 60, 10)
	p.mustPut(t, fresh)
	p.mustShow(t, fresh)
}

// rowsEnded puts under a context that has ended already.
func rowsEnded(t *testing.T, p *rowPlace) {
	old := p.part(table, day, 1, 20, 10)
	p.mustPut(t, old)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, rows := range []int{10, 0} {
		if _, err := p.Sink.Put(ctx, p.part(table, day, 2, rows, 10).Part); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
		p.mustShow(t, old)
	}
}

// rowsFailedRead makes the reading of a part fail in each of the ways of spoilings.
func rowsFailedRead(t *testing.T, p *rowPlace) {
	slow.Test(t)
	broken := errors.New("the disk is gone")
	failures := spoilings(broken)
	var old []*part
	check := func(when string, shapes ...[2]int) {
		for _, shape := range shapes {
			for name, spoil := range failures {
				fresh := p.part(table, day, 2, shape[0], shape[1])
				spoil(fresh)
				_, err := p.Sink.Put(context.Background(), fresh.Part)
				if err == nil {
					t.Errorf("%s, %d bytes, %s: no error", name, fresh.Size, when)
				}
				if (fresh.openErr != nil || fresh.closeErr != nil || strings.HasPrefix(name, "error ")) &&
					!errors.Is(err, broken) {
					t.Errorf("%s, %d bytes, %s: %v hides the cause", name, fresh.Size, when, err)
				}
				p.mustShow(t, old...)
			}
		}
	}
	check("nothing there before", shapes[:2]...)
	old = []*part{p.part(table, day, 1, 50, 10)}
	p.mustPut(t, old...)
	check("old rows there before", shapes...)
}

// rowsConcurrent puts two parts at the same time. Leases keep writers apart; should they ever fail
// to, readers still see one part or the other.
func rowsConcurrent(t *testing.T, p *rowPlace) {
	a, b := p.part(table, day, 1, 300, 10), p.part(table, day, 2, 200, 10)
	p.mustPut(t, a)
	var wg sync.WaitGroup
	const writers, rounds = 2, 2 // few, because a warehouse limits the rate of writes
	for _, part := range []*part{a, b} {
		for range writers {
			wg.Go(func() {
				if err := p.putOften(part.Part, rounds); err != nil {
					t.Log(err) // allowed: a sink may notice the other writer
				}
			})
		}
	}
	finished := make(chan struct{})
	go func() { wg.Wait(); close(finished) }()
	whole := func() {
		got := p.visible(t)
		if p.differ(got, a) != "" && p.differ(got, b) != "" {
			t.Errorf("a reader sees %d rows that are neither part", len(got))
		}
	}
	for running := true; running; {
		select {
		case <-finished:
			running = false
		default:
		}
		whole()
	}
	p.mustPut(t, a)
	p.mustShow(t, a)
}
