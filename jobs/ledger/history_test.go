package ledger

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/civil"
)

// An almanac is what was committed, told without any of the ledger's objects.
type almanac map[civil.Date][]Record

// next makes the record of a fetch as package partition does.
func (a almanac) next(t *testing.T, table *Table, partition civil.Date, hash string, state State, fetched time.Time) {
	t.Helper()
	check(t, table.Refresh(t.Context()))
	list := a[partition]
	e := Record{Partition: partition, Run: fmt.Sprint("run ", len(list)), Reason: "lookback", Fetched: fetched,
		State: state, Hash: hash, Since: fetched}
	if n := len(list); n > 0 {
		if last := list[n-1]; last.Hash == hash && last.State == state {
			e.Since = last.Since
		}
	}
	check(t, table.Commit(t.Context(), e))
	e, _ = table.Recorded(partition)
	a[partition] = append(list, e)
}

// told is the almanac as History should tell it, and what has changed since a time.
func (a almanac) told(since time.Time) (all, changed []string) {
	for _, partition := range slices.SortedFunc(maps.Keys(a), civil.Date.Compare) {
		var lines []string
		var old []bool
		var last Record
		for _, e := range a[partition] {
			if len(lines) == 0 || e.Hash != last.Hash || e.State != last.State {
				lines, old = append(lines, ""), append(old, e.Fetched.Before(since))
				last = e
			}
			lines[len(lines)-1] = fmt.Sprintf("%s %d %s %s from %v to %v by %s", partition, e.Seq, e.State, e.Hash,
				last.Since.Unix(), e.Fetched.Unix(), last.Run)
		}
		all = append(all, lines...)
		if len(old) > 0 && !old[len(old)-1] {
			first := slices.Index(old, false)
			if first > 0 {
				changed = append(changed, untold(lines[first-1]))
			}
			changed = append(changed, lines[first:]...)
		}
	}
	return all, changed
}

func lines(list []Record) (out []string) {
	for _, e := range list {
		out = append(out, fmt.Sprintf("%s %d %s %s from %v to %v by %s", e.Partition, e.Seq, e.State, e.Hash,
			e.Since.Unix(), e.Fetched.Unix(), e.Run))
	}
	return out
}

// untold leaves out by whom and when the content was brought.
func untold(line string) string { return line[:strings.Index(line, " from ")] }

// Whatever is fetched and moved into older objects, and wherever that is cut short, history is what
// was committed: nothing lost, nothing twice.
func TestHistoryIsWhatWasCommitted(t *testing.T) {
	short(t)
	tidied, cut := 0, 0
	for seed := range uint64(*rounds / 4) {
		dice := rand.New(rand.NewPCG(seed, 18))
		l, store := distantLedger(t, nil)
		said := almanac{}
		now := time.Date(2026, 1, 20, 6, 0, 0, 0, time.UTC)
		for range 120 {
			table := openTable(t, l)
			now = now.Add(time.Duration(dice.Int64N(int64(40 * time.Hour))))
			partition := date("2026-01-15").AddDays(dice.IntN(4))
			switch dice.IntN(8) {
			case 0, 1:
				var calls atomic.Int64 // objects are read side by side
				left := int64(dice.IntN(120))
				store.Before = func(call, _ string) {
					if calls.Add(1) > left && (call == "create" || call == "delete" || call == "write") {
						store.Dead.Store(true)
					}
				}
				tidied++
				if err := table.Tidy(t.Context()); err != nil {
					cut++
				}
				store.Before = nil
				store.Dead.Store(false)
			case 2:
				lease, err := table.Begin(t.Context(), "doubt", []civil.Date{partition})
				check(t, err)
				lease.Putting(partition)
				check(t, lease.End(t.Context()))
			default:
				said.next(t, table, partition, fmt.Sprint("h", dice.IntN(2)),
					[]State{Written, Written, Kept}[dice.IntN(3)], now)
			}
			if dice.IntN(10) > 0 {
				continue
			}
			since := now.Add(-time.Duration(dice.Int64N(int64(60 * 24 * time.Hour))))
			want, wantChanged := said.told(since)
			got, err := table.History(t.Context(), civil.Date{}, civil.Date{})
			check(t, err)
			if !slices.Equal(lines(got), want) {
				t.Fatalf("seed %d: history is\n%s\nwant\n%s", seed, strings.Join(lines(got), "\n"),
					strings.Join(want, "\n"))
			}
			got, err = table.Changed(t.Context(), since)
			check(t, err)
			gotChanged := lines(got)
			for i, e := range got {
				if e.Since.Before(since) {
					gotChanged[i] = untold(gotChanged[i])
				}
			}
			if !slices.Equal(gotChanged, wantChanged) {
				t.Fatalf("seed %d: changed since %v is\n%s\nwant\n%s", seed, since.Unix(),
					strings.Join(gotChanged, "\n"), strings.Join(wantChanged, "\n"))
			}
			from := date("2026-01-16")
			got, err = table.History(t.Context(), from, from.AddDays(1))
			check(t, err)
			want = slices.DeleteFunc(want, func(line string) bool { return !strings.HasPrefix(line, from.String()) })
			if !slices.Equal(lines(got), want) {
				t.Fatalf("seed %d: history of a day is %v, want %v", seed, lines(got), want)
			}
		}
	}
	t.Logf("tidied %d times, %d of them cut short", tidied, cut)
}

// What was decided about the answers of a partition stays in history, in the month when that was:
// an answer that was held back though the rows are older, that it was accepted, and rows that
// differ for good. Each is told once, however often the record is replaced.
func TestHistoryKnowsWhatWasDecided(t *testing.T) {
	l, _ := distantLedger(t, nil)
	day, at := civil.Date{Year: 2026, Month: 1, Day: 1}, func(month time.Month,
		day int) time.Time {
		return time.Date(2026, month, day, 6, 0, 0, 0, time.UTC)
	}
	differs := &Control{State: Unreconciled, Differences: []Difference{{Metric: "cost", Rows: "1", Total: "2"}}}
	e := Record{Partition: day, Run: "first", Fetched: at(1, 2), State: Written, Rows: 5, Hash: "a"}
	held := HeldBack{Why: "rows 1 instead of 5", Run: "second", Since: at(3, 1), Last: at(3, 1)}
	again, accepted := held, held
	again.Run, again.Last = "third", at(3, 2)
	accepted.Accepted = &Acceptance{At: at(3, 3), Reason: "sold", Person: true}
	for _, change := range []func(){
		func() {}, func() {
			e.Fetched, e.Run = at(1, 3),
				"same"
		}, func() { e.HeldBack = &held }, func() { e.HeldBack = &again }, func() { e.HeldBack = &accepted },
		func() {
			e = Record{Partition: day, Run: "fourth", Fetched: at(4, 1), State: Written, Rows: 1, Hash: "b",
				Accepted: accepted.Accepted, Control: differs}
		},
		func() { e.Fetched, e.Same = at(4, 2), 1 }, func() { e.Fetched, e.Same = at(4, 3), 2 }, func() {
			e.Fetched,
				e.Same = at(4, 4), 3
		},
		func() { e.Accepted = &Acceptance{At: at(5, 5), Reason: "known", Person: true} }, func() {
			e.Fetched,
				e.Same = at(6, 2), 4
		},
		func() { e.Fetched, e.Control, e.Same = at(6, 6), nil, 0 },
	} {
		change()
		table := openTable(t, l)
		if old, known := table.Record(day); known {
			e.After, e.Since = old.Seq, old.Since
			if old.Hash != e.Hash {
				e.Since = e.Fetched
			}
		}
		check(t, table.Commit(t.Context(), e))
		check(t, table.Commit(t.Context(), Record{Partition: day.AddDays(40), Fetched: at(2, 1), State: Written,
			Hash: e.Fetched.String()}))
		check(t, table.Tidy(t.Context()))
	}
	table := openTable(t, l)
	said := func(list []Record) (out []string) {
		for _, e := range list {
			for _, one := range e.Events {
				if e.Partition == day {
					out = append(out, fmt.Sprintf("%s %s %s: %s", one.At.Format("01-02"), one.What, one.Run, one.Why))
				}
			}
		}
		return out
	}
	all := []string{
		"03-01 held back second: rows 1 instead of 5", "03-03 accepted : sold",
		"04-03 differs, standing fourth: cost 2 by the service's total, 1 in the rows", "05-05 accepted : known",
	}
	history, err := table.History(t.Context(), day, day.AddDays(1))
	check(t, err)
	if got := said(history); !slices.Equal(got, all) {
		t.Errorf("history has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(all, "\n"))
	}
	for since, n := range map[time.Time]int{at(2, 20): 4, at(3, 2): 3, at(4, 2): 2, at(5, 1): 1, at(5, 20): 0,
		at(6, 1): 0} {
		changed, err := table.Changed(t.Context(), since)
		check(t, err)
		got := slices.DeleteFunc(said(changed), func(line string) bool { return line < since.Format("01-02") })
		if !slices.Equal(got, all[len(all)-n:]) {
			t.Errorf("since %v: %q", since, got)
		}
	}
}

// An answer that was held back, and that the service mended in the end, is told of in the month
// when that was, though the rows are older and nothing else came of it: also when all of it is
// moved at once.
func TestHistoryKnowsWhatWasMended(t *testing.T) {
	l, _ := distantLedger(t, nil)
	day, march := date("2026-01-01"), time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
	e := Record{Partition: day, Run: "first", Fetched: march.AddDate(0, -2, 1), Since: march.AddDate(0, -2, 1),
		State: Written, Rows: 5, Hash: "a"}
	for i, held := range []*HeldBack{nil, {Why: "rows 1", Since: march, Last: march},
		{Why: "rows 1", Since: march, Last: march.AddDate(0, 0, 1)}, nil} {
		if e.HeldBack = held; i == 3 {
			e.Fetched = march.AddDate(0, 0, 2)
		}
		table := openTable(t, l)
		old, _ := table.Record(day)
		e.After = old.Seq
		check(t, table.Commit(t.Context(), e))
	}
	for times := range 3 {
		table := openTable(t, l)
		history, err := table.History(t.Context(), day, day.AddDays(1))
		check(t, err)
		changed, err := table.Changed(t.Context(), march)
		check(t, err)
		for _, list := range [][]Record{history, changed} {
			if len(list) != 1 || len(list[0].Events) != 1 || list[0].Events[0].What != EventHeld ||
				!list[0].Events[0].At.Equal(march) {
				t.Errorf("tidied %d times: %+v", times, list)
			}
		}
		check(t, table.Commit(t.Context(), Record{Partition: day.AddDays(40), After: times,
			Fetched: march.AddDate(0, 0, -20), State: Written, Hash: "b"}))
		check(t, table.Tidy(t.Context()))
	}
}
