package refresh

import (
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// What changed outside is due from Start on; what a bucket's rules delete before it isn't fetched
// again every night.
func TestChangedBeforeStart(t *testing.T) {
	done, changed := ledger.Records{}, map[civil.Date]bool{}
	for day := range 10 {
		e := record(day, "a")
		e.Fetched = moment("2026-05-01T06:00")
		done[e.Partition], changed[e.Partition] = e, true
	}
	start := record(6, "").Partition
	windows := Plan(moment("2026-06-01T06:00"), Rules{
		Period: Day, Page: 1, Start: start, Through: record(9, "").Partition, Location: time.UTC, Changed: changed,
	}, done)
	if len(windows) != 4 || windows[0].Due[0].Partition != start || windows[0].Due[0].Reason != Changed {
		t.Errorf("due: %+v", windows)
	}
	rules := Rules{Period: Day, Page: 1, Start: start, Location: time.UTC, Changed: changed}
	for _, w := range Plan(moment("2026-01-11T06:00"), rules, done) {
		if w.Due[0].Partition.Before(start) {
			t.Errorf("before the start %+v is due", w.Due)
		}
	}
}

func record(day int, run string) ledger.Record {
	return ledger.Record{
		Partition: date("2026-01-01").AddDays(day), Run: run, State: ledger.Written, Rows: int64(day + 1),
		Hash:    fmt.Sprint("h", day),
		Fetched: time.Date(2026, 3, 1, 6, 0, day, 0, time.UTC), Sums: map[string]string{"installs": "12"},
	}
}

// A block holds whole cells, of a quarter of days at most unless a single cell is longer, and
// blocks lie side by side.
func TestBlocksHoldWholeCells(t *testing.T) {
	for period, days := range map[Period]int{Day: 1, Week: 7, Month: 31, Quarter: 92, Year: 366} {
		for _, page := range []int{1, 2, 4, 7, 14, 30, 365} {
			r := Rules{Period: period, Page: page, Location: time.UTC}
			of, first := map[civil.Date]map[civil.Date]bool{}, period.At(17)
			for i := -800; i < 800; i++ {
				p := period.At(i)
				block := r.Block(p, first)
				if r.Block(r.Cell(p), first) != block || r.Block(block, first) != block || block.After(p) {
					t.Fatalf("%v, page %d: %s is in the block of %s, and its cell in that of %s", period, page, p,
						block, r.Block(r.Cell(p), first))
				}
				if of[block] == nil {
					of[block] = map[civil.Date]bool{}
				}
				of[block][p] = true
			}
			if begin := r.Block(first, first); begin != r.Cell(first) {
				t.Errorf("%v, page %d: the block of %s begins with %s", period, page, first, begin)
			}
			longest := 0
			for _, periods := range of {
				longest = max(longest, len(periods))
			}
			if longest > page && longest*days > quarterDays+3*longest || longest < page && longest < 800 {
				t.Errorf("%v, page %d: a block has %d periods", period, page, longest)
			}
		}
	}
	if whole := (Rules{Period: Whole, Page: 1}); whole.Block(Whole.At(0), Whole.At(0)) != Whole.At(0) {
		t.Error("the table without periods is in another block")
	}
}
