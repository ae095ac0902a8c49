package refresh

import (
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"pgregory.net/rapid"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// A world is what a naive reader of the rules keeps of one table: when each partition was fetched,
// and under which shape.
type world struct {
	rules   Rules
	done    ledger.Records
	fetches map[civil.Date][]time.Time
	shape   string
	old     map[civil.Date]bool // fetched last when the numbers had another meaning
}

// night plans at now and fetches; what fails stays as it was, or is left in doubt.
func (w *world) night(t *rapid.T, now time.Time) {
	for _, window := range Plan(now, w.rules, w.done) {
		for _, due := range window.Due {
			w.allowed(t, now, due)
			switch rapid.SampledFrom([]string{"ok", "ok", "ok", "fails", "is cut"}).Draw(t, "fetch") {
			case "ok":
				w.fetched(now, due)
			case "is cut":
				w.done[due.Partition] = ledger.Record{Rows: 1, Partition: due.Partition, Seq: due.Seq + 1,
					State: ledger.Publishing, Fetched: now, Shape: w.shape}
				w.fetches[due.Partition] = nil
				delete(w.old, due.Partition)
			}
		}
	}
}

func (w *world) fetched(now time.Time, due Due) {
	w.done[due.Partition] = ledger.Record{Rows: 1, Partition: due.Partition, Seq: due.Seq + 1, State: ledger.Written,
		Fetched: now, Shape: w.shape}
	w.fetches[due.Partition] = append(w.fetches[due.Partition], now)
	delete(w.old, due.Partition)
}

// ends is the end of a partition, by counting days one by one; of the whole, of its newest day.
func (w *world) ends(now time.Time, partition civil.Date) time.Time {
	d := partition
	if w.rules.Period == Whole {
		d = civil.DateOf(now.In(w.rules.Location))
		return d.In(w.rules.Location)
	}
	for w.rules.Period.Start(d) == partition {
		d = d.AddDays(1)
	}
	return d.In(w.rules.Location)
}

// allowed fails the test when a fetch is one too many: twice between two ticks, or of what is
// settled.
func (w *world) allowed(t *rapid.T, now time.Time, due Due) {
	fetched := w.fetches[due.Partition]
	if len(fetched) == 0 || w.old[due.Partition] {
		return
	}
	last := fetched[len(fetched)-1]
	if w.rules.Schedule != nil && w.rules.Schedule.Next(last).After(now) {
		t.Fatalf("%s was fetched at %s and again at %s (%s), without a tick in between", due.Partition, last, now,
			due.Reason)
	}
	if w.rules.Period == Whole {
		if civil.DateOf(last.In(w.rules.Location)) == civil.DateOf(now.In(w.rules.Location)) && w.rules.Lookback == 0 {
			t.Fatalf("the whole was fetched twice on %s", civil.DateOf(now.In(w.rules.Location)))
		}
		return
	}
	final := w.ends(now, due.Partition)
	for _, days := range append([]int{w.rules.Lookback}, w.rules.Horizons...) {
		if at := w.ends(now, due.Partition).AddDate(0, 0, days); !at.After(now) && at.After(final) {
			final = at
		}
	}
	restating := last.Before(w.ends(now, due.Partition).AddDate(0, 0, w.rules.Lookback))
	if !last.Before(final) && !restating {
		t.Fatalf("%s was fetched at %s, after all that had passed by %s, and again (%s)", due.Partition, last, now,
			due.Reason)
	}
}

// settled fails the test when, after nights enough without failures, a partition isn't as new as
// the rules ask.
func (w *world) settled(t *rapid.T, now time.Time) {
	first := w.rules.Period.Start(w.rules.Start)
	if w.rules.Period == Whole {
		first = sinks.Whole
	}
	for p := first; ; p = w.rules.Period.Next(p) {
		end := w.ends(now, p)
		if end.After(now) {
			return
		}
		e, recorded := w.done[p]
		if !recorded || e.State != ledger.Written {
			t.Fatalf("%s has no record that counts: %+v", p, e)
		}
		if _, stale := w.rules.stale(e); w.old[p] || stale {
			t.Fatalf("%s is of an old shape", p)
		}
		if e.Fetched.Before(end) {
			t.Fatalf("%s ended at %s and was fetched last at %s", p, end, e.Fetched)
		}
		if w.rules.Period == Whole {
			return
		}
		for _, days := range append([]int{w.rules.Lookback}, w.rules.Horizons...) {
			if final := end.AddDate(0, 0, days); !final.After(now) && e.Fetched.Before(final) {
				t.Fatalf("%s was fetched last at %s, and changed until %s", p, e.Fetched, final)
			}
		}
	}
}

// Nights come or are missed, fetches fail or are cut, the numbers change their meaning once:
// nothing is fetched more often than a tick and the rules allow, and when it has been quiet for a
// while everything is as new as it should be.
func TestNightsConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRules(t)
		r.Period = Period(rapid.IntRange(0, int(Whole)).Draw(t, "any period"))
		r.Start = date("2025-11-01").AddDays(rapid.IntRange(0, 60).Draw(t, "first"))
		w := &world{rules: r, done: ledger.Records{}, fetches: map[civil.Date][]time.Time{}, shape: "first",
			old: map[civil.Date]bool{}}
		now := date("2026-01-01").In(time.UTC)
		for range rapid.IntRange(1, 30).Draw(t, "nights") {
			now = now.Add(time.Duration(rapid.IntRange(1, 4*24*60).Draw(t, "minutes to the next")) * time.Minute)
			if w.shape == "first" && rapid.IntRange(0, 9).Draw(t, "meaning") == 0 {
				w.shape = "second"
				w.rules.Stale = map[string]ledger.Stale{"first": {Rebased: true}}
				if rapid.Bool().Draw(t, "only a column more") {
					w.rules.Stale = map[string]ledger.Stale{"first": {Lacks: []string{"clicks"}}}
				}
				for p := range w.done {
					w.old[p] = true
				}
			}
			w.night(t, now)
		}
		quiet := func() { // nothing fails
			for _, window := range Plan(now, w.rules, w.done) {
				for _, due := range window.Due {
					w.allowed(t, now, due)
					w.fetched(now, due)
				}
			}
		}
		for range 9 { // a Monday's among them
			now = now.AddDate(0, 0, 1)
			quiet()
		}
		if r.Schedule != nil { // and what has ended or passed since the last tick
			now = r.Schedule.Next(now)
			quiet()
		}
		w.settled(t, now)
	})
}
