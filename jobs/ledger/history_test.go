package ledger

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
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
				left := dice.IntN(120)
				store.Before = func(call, _ string) {
					if left--; left < 0 && (call == "create" || call == "delete" || call == "write") {
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
