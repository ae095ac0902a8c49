package refresh

import (
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"pgregory.net/rapid"

	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// Nights over a table of finals, of which some are missed, some looks fail, and some runs start
// twice or look at the same time: nobody looks at a cell twice a day, and each final is looked at
// within as many nights as there are cells.
func TestEveryFinalHasItsTurn(t *testing.T) {
	slow.Test(t)
	rapid.Check(t, func(t *rapid.T) {
		r := Rules{
			Period: rapid.SampledFrom([]Period{Day, Day, Week, Month}).Draw(t, "period"), Page: 7, Location: time.UTC,
			Start:      date("2025-03-10"),
			FinalAfter: map[string]int{"installs": 0},
		}
		days := rapid.SampledFrom([]int{1, 30, 90, 400}).Draw(t, "days")
		moves := rapid.Bool().Draw(t, "the start moves")
		begin := moment("2026-03-10T06:00")
		done := ledger.Records{}
		for i := r.Period.Index(r.Start); !r.Period.At(i + 1).After(civil.DateOf(begin)); i++ {
			done[r.Period.At(i)] = ledger.Record{Partition: r.Period.At(i), Seq: 1, State: ledger.Written, Rows: 1,
				Fetched: begin}
		}
		cells := len(done)/max(1, days/daysOf[r.Period]) + 2
		var looks DriftChecks
		night, lost := 0, 0
		last := map[civil.Date]int{} // night of the last look, by partition
		for ; night < 3*cells && night < 120; night++ {
			now := begin.AddDate(0, 0, night+1)
			if moves {
				r.Start = r.Start.AddDays(1)
			}
			if rapid.IntRange(0, 5).Draw(t, "night") == 0 {
				lost++ // missed
				continue
			}
			before := looks
			today := map[civil.Date]bool{} // cells that were looked at
			fails := 0
			for range rapid.IntRange(1, 3).Draw(t, "runs") {
				known := looks
				if rapid.Bool().Draw(t, "at the same time") {
					known = before
				}
				w, any := r.Watch(now, days, done, known)
				if !any {
					continue
				}
				if fresh, _ := r.Watch(now, days, done, looks); fresh.Cell.From != w.Cell.From {
					continue // under the lease it sees that another run was faster
				}
				if today[w.Cell.From] {
					t.Fatalf("night %d: %s is looked at again", night, w.Cell.From)
				}
				l := w.Cell
				l.At, l.Failed = now, rapid.IntRange(0, 5).Draw(t, "look") == 0
				now = now.Add(time.Minute)
				looks = looks.With(l)
				if l.Failed {
					fails++
					continue
				}
				today[w.Cell.From] = true
				for _, p := range w.Finals {
					last[p] = night
				}
			}
			if len(today) == 0 && fails > 0 {
				lost++
			}
			for p := range done {
				if age := night - last[p]; !p.Before(r.Start) && age > 2*cells+2*lost+2 {
					t.Fatalf("%s was looked at %d nights ago, of %d cells and %d lost nights", p, age, cells, lost)
				}
			}
		}
		if len(looks) > 2*cells+2 {
			t.Fatalf("%d looks are kept of %d cells", len(looks), cells)
		}
	})
}

// Without lost nights a year is seen again within a week, whatever the grid.
func TestAYearIsSeenWithinAWeek(t *testing.T) {
	slow.Test(t)
	for shift := range 90 {
		r := Rules{Period: Day, Page: 7, Location: time.UTC, Start: date("2025-01-01").AddDays(shift),
			FinalAfter: map[string]int{"installs": 0}}
		begin := r.Start.AddDays(365).In(time.UTC).Add(6 * time.Hour)
		done := ledger.Records{}
		for i := range 365 {
			done[r.Start.AddDays(i)] = ledger.Record{Partition: r.Start.AddDays(i), Seq: 1, State: ledger.Written,
				Rows: 1, Fetched: begin}
		}
		var looks DriftChecks
		for night := 1; night <= 30; night++ {
			now := begin.AddDate(0, 0, night)
			w, any := r.Watch(now, 90, done, looks)
			if !any {
				t.Fatalf("shift %d, night %d: nothing to look at", shift, night)
			}
			w.Cell.At = now
			looks = looks.With(w.Cell)
			if night < 7 {
				continue
			}
			for p, e := range done {
				if seen, _ := (Watch{Finals: []civil.Date{p}}).since(done, looks); now.Sub(seen) > 7*24*time.Hour ||
					e.Seq == 0 {
					t.Fatalf("shift %d, night %d: %s was seen %v ago", shift, night, p, now.Sub(seen))
				}
			}
		}
	}
}

// Only finals of the table as it is now are looked at, and what a look found to have moved is due
// until it is fetched.
func TestWhatIsWatched(t *testing.T) {
	now := moment("2026-03-01T06:00")
	r := Rules{Period: Day, Page: 7, Location: time.UTC, Start: date("2026-01-05"), Lookback: 7,
		FinalAfter: map[string]int{"installs": 7}}
	done := ledger.Records{}
	for i := range 50 {
		e := ledger.Record{Partition: date("2026-01-01").AddDays(i), Seq: 1, State: ledger.Written, Rows: 1,
			Fetched: moment("2026-02-20T06:00")}
		done[e.Partition] = e
	}
	set := func(day string, change func(*ledger.Record)) {
		e := done[date(day)]
		change(&e)
		done[e.Partition] = e
	}
	set("2026-01-10", func(e *ledger.Record) { e.State = ledger.Kept })
	set("2026-01-11", func(e *ledger.Record) { e.State = ledger.Publishing })
	set("2026-01-12", func(e *ledger.Record) { e.Fetched = moment("2026-01-15T06:00") })
	set("2026-01-13", func(e *ledger.Record) { e.State, e.Rows = ledger.Empty, 0 })
	w, any := r.Watch(now, 400, done, nil)
	if got := fmt.Sprint(len(w.Finals), w.Finals[0], w.Finals[len(w.Finals)-1]); !any ||
		got != "36 2026-01-05 2026-02-12" {
		t.Errorf("watched: %s", got)
	}
	looks := DriftChecks{}.With(DriftCheck{From: w.Cell.From, Until: w.Cell.Until, At: now,
		Moved: []civil.Date{date("2026-01-03"), date("2026-01-20")}})
	r.Moved = looks.Moved()
	var due []Due
	for _, w := range Plan(now.Add(time.Hour), r, done) {
		due = append(due, w.Due...)
	}
	found := 0
	for _, d := range due {
		if d.Reason == Drifted {
			found++
		}
		if d.Reason == Drifted && d.Partition != date("2026-01-20") {
			t.Errorf("due: %+v", d)
		}
	}
	if found != 1 {
		t.Errorf("due: %+v", due)
	}
	if failed := looks.With(DriftCheck{From: w.Cell.From, Until: w.Cell.Until, At: now.Add(time.Hour),
		Failed: true}); len(failed) != 2 || len(failed.Moved()) != 2 {
		t.Errorf("after a look that failed: %+v", failed)
	}
	set("2026-01-20", func(e *ledger.Record) { e.Fetched = now.Add(time.Minute) })
	if reason, _ := r.due(now.Add(time.Hour), date("2026-01-20"), done[date("2026-01-20")], true); reason != "" {
		t.Errorf("fetched again, and due for %s", reason)
	}
	if _, any := r.Watch(now.Add(time.Hour), 400, done, looks); any {
		t.Error("looked at twice on one day")
	}
	failed := DriftChecks{}.With(DriftCheck{From: w.Cell.From, Until: w.Cell.Until, At: now, Failed: true})
	if again, any := r.Watch(now.Add(time.Minute), 400, done, failed); !any || again.Cell.From != w.Cell.From {
		t.Errorf("after a look that failed the next run looks at %+v, want the cell again", again)
	}
	for _, none := range []Rules{{Period: Whole, Location: time.UTC, Start: r.Start},
		{Period: Day, Page: 7, Location: time.UTC, Start: date("2027-01-01")}} {
		if w, any := none.Watch(now, 90, done, nil); any {
			t.Errorf("%+v", w)
		}
	}
}

// Between two fetches a column ripens when its horizon lies between them, however many nights were
// missed.
func TestRipened(t *testing.T) {
	r := Rules{Period: Day, Location: time.UTC, Lookback: 14, Horizons: []int{3},
		FinalAfter: map[string]int{"installs": 7, "cost": 14, "cohort_revenue": Never}}
	for _, c := range []struct {
		fetched, now string
		want         bool
	}{
		{"2026-03-02T06:00", "2026-03-04T23:59", false}, {"2026-03-02T06:00", "2026-03-05T00:00", true},
		{"2026-03-05T00:00", "2026-03-08T06:00", false},
		{"2026-03-08T06:00", "2026-03-09T06:00", true}, {"2026-03-03T06:00", "2026-03-20T06:00", true},
		{"2026-03-09T06:00", "2026-03-15T06:00", false},
		{"2026-03-09T06:00", "2026-03-16T06:00", true}, {"2026-03-16T06:00", "2026-06-01T06:00", false},
	} {
		e := ledger.Record{Partition: date("2026-03-01"), Seq: 1, State: ledger.Written, Fetched: moment(c.fetched)}
		if got := r.Ripened(moment(c.now), e); got != c.want {
			t.Errorf("fetched %s, at %s: %v, want %v", c.fetched, c.now, got, c.want)
		}
	}
}
