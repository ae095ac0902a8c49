package ledger

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob"
)

// An almanac is what was committed, told without any of the ledger's objects.
type almanac map[civil.Date][]Record

// next makes the record of a fetch as package partition does.
func (a almanac) next(t *testing.T, table *Table, partition civil.Date, hash string, state State, fetched time.Time) {
	t.Helper()
	check(t, table.Refresh(t.Context()))
	list := a[partition]
	e := Record{Partition: partition, Run: fmt.Sprint("run ", len(list)), Reason: "lookback", Fetched: fetched, State: state, Hash: hash, Since: fetched}
	if n := len(list); n > 0 {
		if last := list[n-1]; last.Hash == hash && last.State == state {
			e.Since = last.Since
		}
	}
	check(t, table.Commit(t.Context(), e))
	e, _ = table.Record(partition)
	a[partition] = append(list, e)
}

// told is the almanac as History should tell it, and what has changed since a time.
func (a almanac) told(since time.Time) (all, changed []string) {
	for _, partition := range slices.SortedFunc(maps.Keys(a), civil.Date.Compare) {
		var lines []string
		var old []bool
		var last Record
		for _, e := range a[partition] {
			if e.State == Publishing {
				continue
			}
			if len(lines) == 0 || e.Hash != last.Hash || e.State != last.State {
				lines, old = append(lines, ""), append(old, e.Fetched.Before(since))
				last = e
			}
			lines[len(lines)-1] = fmt.Sprintf("%s %d %s %s from %v to %v by %s", partition, e.Seq, e.State, e.Hash, last.Since.Unix(), e.Fetched.Unix(), last.Run)
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
		out = append(out, fmt.Sprintf("%s %d %s %s from %v to %v by %s", e.Partition, e.Seq, e.State, e.Hash, e.Since.Unix(), e.Fetched.Unix(), e.Run))
	}
	return out
}

// untold leaves out by whom and when the content was brought.
func untold(line string) string { return line[:strings.Index(line, " from ")] }

// Whatever is fetched and folded, and wherever a fold is cut short, history is what was committed: nothing lost, nothing twice.
func TestHistoryIsWhatWasCommitted(t *testing.T) {
	folds, cut := 0, 0
	for seed := range uint64(*rounds / 4) {
		dice := rand.New(rand.NewPCG(seed, 18))
		l, store := distantLedger(t, nil)
		l.foldAbove = dice.IntN(8)
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
				folds++
				if err := table.Fold(t.Context()); err != nil {
					cut++
				}
				store.Before = nil
				store.Dead.Store(false)
			case 2:
				said.next(t, table, partition, "", Publishing, now)
			default:
				said.next(t, table, partition, fmt.Sprint("h", dice.IntN(2)), []State{Written, Written, Kept}[dice.IntN(3)], now)
			}
			if dice.IntN(10) > 0 {
				continue
			}
			since := now.Add(-time.Duration(dice.Int64N(int64(60 * 24 * time.Hour))))
			want, wantChanged := said.told(since)
			got, err := table.History(t.Context(), civil.Date{}, civil.Date{})
			check(t, err)
			if !slices.Equal(lines(got), want) {
				t.Fatalf("seed %d: history is\n%s\nwant\n%s", seed, strings.Join(lines(got), "\n"), strings.Join(want, "\n"))
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
				t.Fatalf("seed %d: changed since %v is\n%s\nwant\n%s", seed, since.Unix(), strings.Join(gotChanged, "\n"), strings.Join(wantChanged, "\n"))
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
	t.Logf("%d folds, %d of them cut short", folds, cut)
}

// While a folder reads, others fold, and a sleeper creates a number that was used, with a fetch of another month: that is void, and
// must not come into history beside the record of its number.
func TestAVoidRecordIsNoHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := distantLedger(t, nil)
		l.foldAbove = 0
		said, slow := almanac{}, openTable(t, l)
		partition := date("2026-01-15")
		for night := range 3 {
			said.next(t, slow, partition, fmt.Sprint("h", night), Written, moment("2026-03-01T06:00:00Z").AddDate(0, 0, night))
		}
		key := entryKey("installs", weekOf(partition), 2)
		at(store, "read", key, func() {
			time.Sleep(time.Second) // the others are read by now
			check(t, openTable(t, l).Fold(t.Context()))
			void := said[partition][1]
			void.Run, void.Fetched = "sleeper", moment("2026-02-28T06:00:00Z")
			check(t, l.create(t.Context(), key, mustEncode(t, batch{records: []Record{void}})))
		})
		slow = openTable(t, l) // one that must read what the other has written
		check(t, slow.Fold(t.Context()))
		got, err := slow.History(t.Context(), civil.Date{}, civil.Date{})
		check(t, err)
		if want, _ := said.told(time.Time{}); !slices.Equal(lines(got), want) {
			t.Errorf("history is %v, want %v", lines(got), want)
		}
		if months, err := slow.months(t.Context()); err != nil || len(months) != 1 {
			t.Errorf("history of %v, %v", months, err)
		}
	})
}

// The newest record of a partition is in the segment or an object of its own, so that a history that can't be read stops nobody but
// the fold, before that overwrites or drops anything.
func TestDamagedHistory(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx, table, said := t.Context(), openTable(t, l), almanac{}
		l.foldAbove = 1
		write := func(night int) {
			for day := range 2 {
				said.next(t, table, date("2026-01-15").AddDays(day), fmt.Sprint("h", night), Written, moment("2026-03-01T06:00:00Z").AddDate(0, 0, night))
			}
		}
		write(0)
		write(1)
		check(t, table.Fold(ctx))
		write(2)
		const key = "tables/installs/history/2026-03/000001.json"
		whole, err := l.get(ctx, key)
		check(t, err)
		before, err := l.list(ctx, "tables/")
		check(t, err)
		check(t, l.put(ctx, key, []byte(whole[:len(whole)-9]), &blob.WriterOptions{}))
		_, told := table.History(ctx, civil.Date{}, civil.Date{})
		for what, err := range map[string]error{"the fold": table.Fold(ctx), "history": told} {
			var damaged *DamagedError
			if !errors.As(err, &damaged) || !strings.Contains(err.Error(), l.location(key)) || !strings.Contains(err.Error(), "the history of the table then lacks") {
				t.Errorf("%s: %v", what, err)
			}
		}
		after, err := l.list(ctx, "tables/")
		check(t, err)
		if !slices.Equal(before, after) || len(openTable(t, l).Sorted()) != 2 {
			t.Errorf("after the fold that failed there is %v, before %v", after, before)
		}
		check(t, l.put(ctx, key, []byte(whole), &blob.WriterOptions{}))
		check(t, table.Fold(ctx))
		got, err := table.History(ctx, civil.Date{}, civil.Date{})
		check(t, err)
		if want, _ := said.told(time.Time{}); !slices.Equal(lines(got), want) {
			t.Errorf("history is %v, want %v", lines(got), want)
		}
	})
}

// Months that are over for longer than history is kept are dropped by the store's clock, and what partitions hold stays.
func TestHistoryIsKeptForSoLong(t *testing.T) {
	for _, c := range []struct {
		keep time.Duration
		want string
	}{{0, "[2026-01 2026-02 2026-03]"}, {31 * 24 * time.Hour, "[2026-02 2026-03]"}, {32 * 24 * time.Hour, "[2026-01 2026-02 2026-03]"}} {
		synctest.Test(t, func(t *testing.T) {
			l, _ := distantLedger(t, nil)
			l.foldAbove, l.keep = 0, c.keep
			time.Sleep(time.Until(moment("2026-03-04T06:00:00Z")))
			table, said := openTable(t, l), almanac{}
			for _, fetched := range []string{"2026-01-31T23:59:00Z", "2026-02-01T00:00:00Z", "2026-03-01T06:00:00Z", "2026-03-02T06:00:00Z"} {
				said.next(t, table, date("2026-01-15"), fetched, Written, moment(fetched))
			}
			check(t, table.Fold(t.Context()))
			months, err := table.months(t.Context())
			check(t, err)
			got, err := table.History(t.Context(), civil.Date{}, civil.Date{})
			check(t, err)
			if fmt.Sprint(months) != c.want || len(got) != len(months)+1 {
				t.Errorf("kept for %v: %v and %v", c.keep, months, lines(got))
			}
		})
	}
}

// A fold that was cut short after history was written is done by the next one, and of fetches that brought the same content the first
// and the last are kept. A damaged object stops whoever must read it, also when
// all that was in it has been replaced: nobody knows of which partitions it was.
func TestAFoldGoesOn(t *testing.T) {
	l, store := distantLedger(t, nil)
	l.foldAbove = 1
	table, said := openTable(t, l), almanac{}
	for night, hash := range []string{"a", "a", "a", "a", "b"} {
		said.next(t, table, date("2026-01-15"), hash, Written, moment("2026-03-01T06:00:00Z").AddDate(0, 0, night))
	}
	key := entryKey("installs", weekOf(date("2026-01-15")), 2)
	whole, err := l.get(t.Context(), key)
	check(t, err)
	check(t, l.put(t.Context(), key, []byte(whole[1:]), &blob.WriterOptions{}))
	if _, err := l.Table(t.Context(), "installs"); err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "damaged: ") {
		t.Errorf("with a damaged record: %v", err)
	}
	check(t, l.put(t.Context(), key, []byte(whole), &blob.WriterOptions{}))
	at(store, "create", "segments/000001.json", func() { store.Dead.Store(true) })
	check(t, openTable(t, l).Fold(t.Context()))
	if keys, err := l.list(t.Context(), "tables/installs/partitions/"); err != nil || len(keys) != 5 {
		t.Errorf("the process was killed, and there is %v, %v", keys, err)
	}
	store.Dead.Store(false)
	check(t, openTable(t, l).Fold(t.Context()))
	_, lines, err := table.month(t.Context(), "2026-03")
	check(t, err)
	keys, err := l.list(t.Context(), "tables/installs/partitions/")
	check(t, err)
	if len(keys) != 0 || len(lines) != 2 || lines[0].Seq != 1 || lines[1].Seq != 4 {
		t.Errorf("after the next fold there is %v, and history has %+v", keys, lines)
	}
}

// A fold whose month another process was faster with makes no segment: what its segment left out wouldn't be in history, when the other
// one knew less and was killed before it made one of its own.
func TestAFoldEndsWhenAnotherWasFaster(t *testing.T) {
	l, store := distantLedger(t, nil)
	l.foldAbove = 1
	table, said := openTable(t, l), almanac{}
	day := date("2026-01-15")
	for night, hash := range []string{"a", "b", "c"} {
		said.next(t, table, day, hash, Written, moment("2026-03-01T06:00:00Z").AddDate(0, 0, night))
	}
	at(store, "create", "history/2026-03/000001.json", func() {
		own, err := l.createOwn(t.Context(), "tables/installs/history/2026-03/000001.json", said[day][:1])
		check(t, err)
		if !own {
			t.Error("the other process wasn't faster")
		}
	})
	for fold := range 2 {
		check(t, openTable(t, l).Fold(t.Context()))
		segments, err := l.list(t.Context(), "tables/installs/segments/")
		check(t, err)
		if len(segments) != fold {
			t.Errorf("after %d folds there is %v", fold+1, segments)
		}
	}
	got, err := openTable(t, l).History(t.Context(), day, day.AddDays(1))
	check(t, err)
	if fmt.Sprint(lines(got)) != fmt.Sprint(lines(said[day])) {
		t.Errorf("history is %v, want %v", lines(got), lines(said[day]))
	}
}

// What was decided about the answers of a partition stays in history, in the month when that was: an answer that was held back though
// the rows are older, that it was accepted, and rows that differ for good. Each is told once, however often the record is folded.
func TestHistoryKnowsWhatWasDecided(t *testing.T) {
	l, _ := distantLedger(t, nil)
	l.foldAbove = 1
	day, at := civil.Date{Year: 2026, Month: 1, Day: 1}, func(month time.Month, day int) time.Time { return time.Date(2026, month, day, 6, 0, 0, 0, time.UTC) }
	differs := &Control{State: Unreconciled, Differences: []Difference{{Metric: "cost", Rows: "1", Total: "2"}}}
	e := Record{Partition: day, Run: "first", Fetched: at(1, 2), State: Written, Rows: 5, Hash: "a"}
	held := HeldBack{Why: "rows 1 instead of 5", Run: "second", Since: at(3, 1), Last: at(3, 1)}
	again, accepted := held, held
	again.Run, again.Last = "third", at(3, 2)
	accepted.Accepted = &Acceptance{At: at(3, 3), Reason: "sold", Person: true}
	for _, change := range []func(){
		func() {}, func() { e.Fetched, e.Run = at(1, 3), "same" }, func() { e.HeldBack = &held }, func() { e.HeldBack = &again }, func() { e.HeldBack = &accepted },
		func() {
			e = Record{Partition: day, Run: "fourth", Fetched: at(4, 1), State: Written, Rows: 1, Hash: "b", Accepted: accepted.Accepted, Control: differs}
		},
		func() { e.Fetched, e.Same = at(4, 2), 1 }, func() { e.Fetched, e.Same = at(4, 3), 2 }, func() { e.Fetched, e.Same = at(4, 4), 3 },
		func() { e.Accepted = &Acceptance{At: at(5, 5), Reason: "known", Person: true} }, func() { e.Fetched, e.Same = at(6, 2), 4 },
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
		check(t, table.Commit(t.Context(), Record{Partition: day.AddDays(40), Fetched: at(2, 1), State: Written, Hash: e.Fetched.String()})) // so that it is folded
		check(t, table.Fold(t.Context()))
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
		"03-01 held back second: rows 1 instead of 5", "03-03 accepted : sold", "04-03 differs, standing fourth: cost 2 by the service's total, 1 in the rows", "05-05 accepted : known",
	}
	history, err := table.History(t.Context(), day, day.AddDays(1))
	check(t, err)
	if got := said(history); !slices.Equal(got, all) {
		t.Errorf("history has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(all, "\n"))
	}
	for since, n := range map[time.Time]int{at(2, 20): 4, at(3, 2): 3, at(4, 2): 2, at(5, 1): 1, at(5, 20): 0, at(6, 1): 0} {
		changed, err := table.Changed(t.Context(), since)
		check(t, err)
		got := slices.DeleteFunc(said(changed), func(line string) bool { return line < since.Format("01-02") })
		if !slices.Equal(got, all[len(all)-n:]) {
			t.Errorf("since %v: %q", since, got)
		}
	}
}

// An answer that was held back, and that the service mended in the end, is told of in the month when that was, though the rows are older
// and nothing else came of it: also when all of it is folded at once.
func TestHistoryKnowsWhatWasMended(t *testing.T) {
	l, _ := distantLedger(t, nil)
	day, march := date("2026-01-01"), time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
	e := Record{Partition: day, Run: "first", Fetched: march.AddDate(0, -2, 1), Since: march.AddDate(0, -2, 1), State: Written, Rows: 5, Hash: "a"}
	for i, held := range []*HeldBack{nil, {Why: "rows 1", Since: march, Last: march}, {Why: "rows 1", Since: march, Last: march.AddDate(0, 0, 1)}, nil} {
		if e.HeldBack = held; i == 3 {
			e.Fetched = march.AddDate(0, 0, 2)
		}
		table := openTable(t, l)
		old, _ := table.Record(day)
		e.After = old.Seq
		check(t, table.Commit(t.Context(), e))
	}
	for folds := range 3 {
		table := openTable(t, l)
		history, err := table.History(t.Context(), day, day.AddDays(1))
		check(t, err)
		changed, err := table.Changed(t.Context(), march)
		check(t, err)
		for _, list := range [][]Record{history, changed} {
			if len(list) != 1 || len(list[0].Events) != 1 || list[0].Events[0].What != EventHeld || !list[0].Events[0].At.Equal(march) {
				t.Errorf("after %d folds: %+v", folds, list)
			}
		}
		l.foldAbove = 0
		check(t, table.Commit(t.Context(), Record{Partition: day.AddDays(40), After: folds, Fetched: march.AddDate(0, 0, -20), State: Written, Hash: "b"}))
		check(t, table.Fold(t.Context()))
	}
}
