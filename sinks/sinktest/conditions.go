package sinktest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/reportferry/reportferry/sinks"
)

// testConditions checks that the store refuses a put whose condition isn't met any more, whatever
// the part's size, so that what readers see never goes back to older rows.
func testConditions(t *testing.T, p *place) {
	for _, size := range []int{1000, 17 << 20} { // one call, and several pieces on every store
		first, second, late := p.part(table, day, 1, size), p.part(table, day, 2, size-1), p.part(table, day, 3, size+1)
		over := p.conditionNow(t)
		begun := p.mustPutOver(t, first, over)
		p.mustRefuse(t, late, over, first) // nothing was there when it began, or something older
		done := p.mustPutOver(t, second, sinks.Condition{Version: begun.Version})
		p.mustRefuse(t, late, sinks.Condition{Version: begun.Version}, second)
		p.mustRefuse(t, late, sinks.Condition{Absent: true}, second)
		p.mustRefuse(t, second, sinks.Condition{Version: begun.Version}, second) // the same put, doubled
		if over := p.conditionNow(t); over.Version != done.Version {
			t.Errorf("a look gives %+v, the receipt says version %q", over, done.Version)
		}
	}
}

// testConditionsRace has several writers replace one version at the same time: one of them wins,
// and readers see what it put.
func testConditionsRace(t *testing.T, p *place) {
	version := p.mustPut(t, p.part(table, day, 1, 5000)).Version
	for round := range 5 {
		const writers = 4
		var parts []*part
		for w := range writers {
			parts = append(parts, p.part(table, day, byte(10+writers*round+w), 5000+w))
		}
		var mu sync.Mutex
		var won []*part
		var wg sync.WaitGroup
		over := sinks.Condition{Version: version}
		for _, part := range parts {
			wg.Go(func() {
				fresh := part.Part
				fresh.Over = over
				receipt, err := p.Sink.Put(context.Background(), fresh)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					won, version = append(won, part), receipt.Version
				case !errors.Is(err, sinks.ErrConflict) && !errors.Is(err,
					sinks.ErrForeign): // random bytes in a folder carry no mark of this program
					t.Errorf("a writer that was too late: %v", err)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Fatalf("%d of %d writers won", len(won), writers)
		}
		p.mustShow(t, won[0])
	}
}

// testListed checks that a listing has the same versions as the receipts.
func testListed(t *testing.T, p *place) {
	want := map[string]sinks.Receipt{}
	for i, date := range []string{day, "2026-02-01", "2026-02-02"} {
		r := p.mustPut(t, p.part(table, date, byte(i), 1000+i))
		want[r.Key] = r
	}
	objects, err := p.files.List(t.Context(), table)
	if err != nil || len(objects) != len(want) {
		t.Errorf("%d of %d are listed: %v", len(objects), len(want), err)
	}
	for _, o := range objects {
		if r := want[o.Key]; o.Size != r.Size || o.Version != r.Version || o.Version == "" {
			t.Errorf("listed is %+v, the receipt says %+v", o, r)
		}
	}
}

// testDescribed puts parts of a table that is described: no reader of the table finds the
// description, and the newest one is kept.
func testDescribed(t *testing.T, p *place) {
	described := func(date string, seed byte, text string) *part {
		made := p.part(table, date, seed, 1000)
		made.Schema = &sinks.Schema{
			Period: "day", On: "day", About: &sinks.About{Text: text, Job: table},
			Columns: []sinks.Column{{Name: "day", Type: sinks.Date, Required: true},
				{Name: "cost", Type: sinks.Decimal, Unit: "money"}},
		}
		made.Warn = func(err error) {
			if strings.Contains(err.Error(), "describe") {
				t.Errorf("warned: %v", err)
			}
		}
		return made
	}
	for _, made := range []*part{described(day, 1, "first"), described("2026-02-01", 2, "first"),
		described(day, 3, "second")} {
		p.mustPut(t, made)
	}
	objects, err := p.files.List(t.Context(), table)
	if err != nil || len(objects) != 2 {
		t.Errorf("listed are %v: %v", objects, err)
	}
	others := p.Visible(t)
	for _, o := range objects {
		delete(others, o.Key)
	}
	if len(others) != 1 {
		t.Fatalf("%d objects beside the parts, want the description", len(others))
	}
	for key, content := range others {
		if strings.Contains(key, table+"/") || !bytes.Contains(content, []byte(`"about": "second"`)) {
			t.Errorf("%s: %s", key, content)
		}
	}
}

// conditionNow returns the condition that allows what the key of table and day holds now.
func (p *place) conditionNow(t *testing.T) sinks.Condition {
	t.Helper()
	date := p.part(table, day, 0, 0).Partition
	over, err := p.files.ConditionOf(t.Context(), table, date, false)
	if err != nil {
		t.Fatal(err)
	}
	return over
}

// mustPutOver puts a part on a condition, and checks that it is visible.
func (p *place) mustPutOver(t *testing.T, part *part, over sinks.Condition) sinks.Receipt {
	t.Helper()
	fresh := part.Part
	fresh.Over = over
	receipt, err := p.Sink.Put(context.Background(), fresh)
	if err != nil {
		t.Fatalf("put over %+v: %v", over, err)
	}
	p.mustShow(t, part)
	return receipt
}

// mustRefuse checks that a put is refused because of its condition, and that what is there stays.
func (p *place) mustRefuse(t *testing.T, late *part, over sinks.Condition, stays *part) {
	t.Helper()
	fresh := late.Part
	fresh.Over = over
	if _, err := p.Sink.Put(context.Background(), fresh); !errors.Is(err, sinks.ErrConflict) &&
		!errors.Is(err, sinks.ErrForeign) {
		t.Errorf("a late put over %+v: %v", over, err)
	}
	if visible := p.Visible(t); len(visible) != 1 {
		t.Errorf("%d keys are visible", len(visible))
	} else {
		for _, content := range visible {
			if !bytes.Equal(content, stays.content) {
				t.Errorf("after a late put over %+v readers see %d bytes, want %d", over, len(content), stays.Size)
			}
		}
	}
}
