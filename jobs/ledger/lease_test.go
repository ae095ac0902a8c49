package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/bucket/buckettest"
)

// What a partition is after leases of several runs: by a table that was open all the time, by one
// that reads the month, and by one that reads the index alone. And which of them the next one has
// to reckon with.
func TestWhatLeasesLeave(t *testing.T) {
	const none = State("")
	for _, c := range []struct {
		recorded bool // before that
		steps    string
		want     State
		earlier  string // leases under which something may be put yet, for the one that begins next
	}{
		{false, "a begins, a ends", none, ""},
		{false, "a begins, a ends, b begins, b ends", none, ""},
		{true, "a begins, a ends", Written, ""},
		{true, "a begins, a puts, a ends", Publishing, "a"},
		{false, "a begins, a puts, a ends", Publishing, "a"},
		{true, "a begins, a puts, a unputs, a ends", Written, ""},
		{true, "a begins, a puts, a commits, a ends", Written, ""},
		{true, "a begins, a dies", Publishing, "a"},
		{false, "a begins, a dies", Publishing, "a"},
		{true, "a begins, a dies, b begins, b ends", Publishing, "a b"},
		{false, "a begins, a dies, b begins, b ends", Publishing, "a b"},
		{true, "a begins, a dies, b begins, b dies, c begins, c puts, c commits, c ends", Written, ""},
		{true, "a begins, a dies, b begins, b holds back, b ends", Publishing, "a b"},
		{true, "a begins, a dies, b begins, b commits, b ends, a ends", Written, ""},
		// What a loser has put may have replaced the winner's rows, whenever the winner recorded
		// them.
		{true, "a begins, a puts, a dies, b begins, b commits, b ends, a ends", Publishing, "a"},
		{true, "a begins, a puts, a dies, b begins, a ends, b commits, b ends", Publishing, "a b"},
		{true, "a begins, a puts, a dies, b begins, a checks, b commits, b ends, a ends", Publishing, "a"},
		{true, "a begins, a puts, a dies, b begins, a ends, b commits, b ends, c begins, c commits, c ends", Written,
			""},
	} {
		synctest.Test(t, func(t *testing.T) {
			l, _ := distantLedger(t, nil)
			l.unindexed = -1
			open, p, shape := openTable(t, l), days(1)[0], Shape{Fingerprint: map[string]string{"currency": "USD"}}
			commit := func(table *Table, by *Lease, run string, doubt bool) error {
				check(t, table.SaveShape(t.Context(), shape))
				e := record(1, run)
				was, _ := table.Recorded(p)
				e.After, e.Shape, e.Doubt = was.Seq, shape.ID(), doubt
				return table.CommitAll(t.Context(), by, []Record{e})[0]
			}
			if c.recorded {
				check(t, commit(openTable(t, l), nil, "before", false))
			}
			leases := map[string]*Lease{}
			for step := range strings.SplitSeq(c.steps, ", ") {
				run, does, _ := strings.Cut(step, " ")
				by := leases[run]
				switch does {
				case "begins":
					leases[run] = begin(t, openTable(t, l), run, 1)
				case "puts":
					by.Putting(p)
				case "unputs":
					by.Unput(p)
				case "commits":
					check(t, commit(by.table, by, run, false))
				case "holds back":
					check(t, commit(by.table, by, run, true))
				case "checks":
					if err := by.Check(t.Context()); !errors.Is(err, ErrLost) {
						t.Errorf("%s: %s: %v", c.steps, step, err)
					}
				case "dies":
					die(by)
				case "ends":
					check(t, by.End(t.Context()))
				}
			}
			check(t, open.Refresh(t.Context()))
			read := openTable(t, l)
			check(t, read.Tidy(t.Context()))
			index := openTable(t, l)
			if len(index.docs) > 0 {
				t.Errorf("%s: the month was read, and not the index", c.steps)
			}
			for how, table := range map[string]*Table{"open": open, "read": read, "by the index": index} {
				e, _ := table.Record(p)
				if e.State != c.want || e.Doubt != (c.want == Publishing) || table.Records()[p].State != c.want {
					t.Errorf("%s, %s: %+v, want %q", c.steps, how, e, c.want)
				}
				_, err := table.Stale(t.Context(), shape)
				_, unread := table.History(t.Context(), civil.Date{}, civil.Date{})
				if err != nil || unread != nil {
					t.Errorf("%s, %s: %v, %v", c.steps, how, err, unread)
				}
			}
			next := begin(t, open, "next", 1)
			var earlier []string
			for _, token := range next.Earlier(p) {
				for run, by := range leases {
					if by.Token() == token {
						earlier = append(earlier, run)
					}
				}
			}
			if got := strings.Join(earlier, " "); got != c.earlier {
				t.Errorf("%s: earlier leases are %q, want %q", c.steps, got, c.earlier)
			}
			check(t, next.End(t.Context()))
		})
	}
}

// All of a unit's partitions are leased, in several months, or none.
func TestAllOrNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := distantLedger(t, nil)
		table, other := openTable(t, l), openTable(t, l)
		b := begin(t, other, "b", 31)
		time.Sleep(30 * time.Second)
		_, err := table.Begin(t.Context(), "a", days(1, 31, 60))
		var held *HeldError
		if !errors.As(err, &held) || held.Free.Round(time.Second) != 90*time.Second ||
			err.Error() != "lease 2026-02-01: held by run b; if that run is dead, it is free in 1m30s" {
			t.Errorf("leased by another: %v", err)
		}
		check(t, begin(t, openTable(t, l), "c", 1, 60).End(t.Context()))
		time.Sleep(time.Hour)
		if _, err := table.Begin(t.Context(), "a", days(31)); !errors.As(err, &held) {
			t.Errorf("after an hour of work: %v", err)
		}
		check(t, b.End(t.Context()))
		// Though this table has read the other's lease, and not that it was given back.
		a := begin(t, table, "a", 1, 31, 60)
		if got := openTable(t, l).Holders(); len(got) != 3 || got[days(60)[0]] != "a" {
			t.Errorf("at work are %v", got)
		}
		check(t, a.End(t.Context()))
	})
}

// The next attempt of a task waits for no lease of the one before, which loses it at its next
// renewal.
func TestTheSameTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := distantLedger(t, nil)
		l.task = "night/3"
		check(t, openTable(t, l).Commit(t.Context(), record(1, "before")))
		first := begin(t, openTable(t, l), "first", 1)
		within, done, err := first.Within(t.Context())
		check(t, err)
		defer done()
		for _, task := range []string{"", "night/4"} {
			l.task = task
			if _, err := openTable(t, l).Begin(t.Context(), "x", days(1)); err == nil {
				t.Errorf("task %q has taken it over", task)
			}
		}
		l.task = "night/3"
		table := openTable(t, l)
		second := begin(t, table, "second", 1)
		if e, _ := table.Record(days(1)[0]); e.State != Publishing {
			t.Errorf("taken over, and not in doubt: %+v", e)
		}
		time.Sleep(l.lease/3 + time.Second)
		if !errors.Is(context.Cause(within), ErrLost) {
			t.Errorf("after a renewal the put goes on: %v", context.Cause(within))
		}
		before, _, err := l.store.Get(t.Context(), table.monthKey("2026-01"))
		check(t, err)
		if err := commitUnder(t, first, record(1, "first")); !errors.Is(err, ErrLost) {
			t.Errorf("a record under a lease that was lost: %v", err)
		}
		if after, _, err := l.store.Get(t.Context(), table.monthKey("2026-01")); err != nil ||
			string(after) != string(before) {
			t.Errorf("who has lost has written %s, %v", after, err)
		}
		check(t, commitUnder(t, second, record(1, "second")))
		check(t, errors.Join(first.End(t.Context()), second.End(t.Context())))
	})
}

// A swap whose answer is lost, or which the store's client has sent twice, is one's own.
func TestBeginWhoseAnswerIsLost(t *testing.T) {
	for _, said := range []error{bucket.ErrConflict, errors.New("connection reset")} {
		synctest.Test(t, func(t *testing.T) {
			l, store := distantLedger(t, nil)
			table := openTable(t, l)
			lost := 0
			store.Answer = func(key string, err error) error {
				if err == nil && strings.Contains(key, "/months/") && lost == 0 {
					lost++
					return said
				}
				return err
			}
			a := begin(t, table, "a", 1)
			if _, is := table.Record(days(1)[0]); is || lost != 1 {
				t.Errorf("%v: one's own lease was taken for another's", said)
			}
			check(t, a.End(t.Context()))
			if _, is := openTable(t, l).Record(days(1)[0]); is {
				t.Errorf("%v: in doubt", said)
			}
		})
	}
}

// A process that is stopped while it begins leaves nothing that the next one waits for.
func TestBeginIsNotCutShort(t *testing.T) {
	for _, month := range []string{"2026-01", "2026-02"} {
		ctx, cancel := context.WithCancel(t.Context())
		l, _ := distantLedger(t, func(call, key string) {
			if call == "create" && strings.Contains(key, month) {
				cancel()
			}
		})
		if a, err := openTable(t, l).Begin(ctx, "a", days(1, 31)); err == nil {
			check(t, a.End(ctx))
		}
		if ctx.Err() == nil {
			t.Fatalf("%s was not written", month)
		}
		check(t, begin(t, openTable(t, l), "b", 1, 31).End(t.Context()))
	}
}

// A store that is slow, as a busy disk is, still gets leases back. Only a run that is told to stop
// gives up after five seconds.
func TestGivenBackToASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var delay time.Duration
		l := Open(Options{Store: buckettest.NewFaulty(&bucket.Memory{}, func(bucket.Call) buckettest.Fate {
			return buckettest.Fate{Delay: delay}
		}), URL: "mem://ledger"})
		a := begin(t, openTable(t, l), "a", 1)
		delay = 8 * time.Second
		check(t, a.End(t.Context()))
		delay = 0
		b := begin(t, openTable(t, l), "b", 1)
		delay = 8 * time.Second
		stopped, stop := context.WithCancel(t.Context())
		stop()
		start := time.Now()
		if err := b.End(stopped); err == nil || time.Since(start) != 5*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		delay = 0
		check(t, l.Close())
	})
}

// A month that was there and is gone is damage for everybody who changes it, and is never made
// anew.
func TestALeaseOfAMonthThatIsGone(t *testing.T) {
	p := days(1)[0]
	for name, do := range map[string]func(*testing.T, *Table, *Lease) error{
		"begin": func(t *testing.T, table *Table, _ *Lease) error {
			_, err := table.Begin(t.Context(), "b", days(2))
			return err
		},
		"check":  func(t *testing.T, _ *Table, a *Lease) error { return a.Check(t.Context()) },
		"renew":  func(t *testing.T, _ *Table, a *Lease) error { return a.renewAll(t.Context()) },
		"commit": func(t *testing.T, _ *Table, a *Lease) error { return commitUnder(t, a, record(1, "a")) },
		"accept": func(t *testing.T, table *Table, _ *Lease) error { return table.Commit(t.Context(), record(2, "a")) },
		"end":    func(t *testing.T, _ *Table, a *Lease) error { a.Putting(p); return a.End(t.Context()) },
	} {
		l, store := distantLedger(t, nil)
		table := openTable(t, l)
		check(t, table.Commit(t.Context(), record(1, "before")))
		a := begin(t, table, "a", 1)
		check(t, store.Delete(t.Context(), table.monthKey("2026-01")))
		var damaged *DamagedError
		if err := do(t, table, a); !errors.As(err, &damaged) || !damaged.Gone {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := l.store.Get(t.Context(), table.monthKey("2026-01")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the month is there again: %v", name, err)
		}
		a.Stop()
	}
}

// A renewal that comes between a record and its answer takes the end of the lease for no loss.
// Acceptance of what is in doubt changes nothing of the record besides, and the doubt stays.
func TestRecordsAndLeases(t *testing.T) {
	l, _ := distantLedger(t, nil)
	table := openTable(t, l)
	a := begin(t, table, "a", 1, 2)
	e := record(1, "a")
	e.Seq = 1
	_, _, err := table.commitMonth(t.Context(), a, "2026-01", []Record{e})
	check(t, errors.Join(err, a.renewAll(t.Context()), a.Check(t.Context()), a.Leased()))
	a.markRecorded(e.Partition)
	a.Putting(days(2)[0])
	check(t, a.End(t.Context()))

	b := begin(t, table, "b", 1)
	b.Putting(e.Partition)
	check(t, b.End(t.Context()))
	doubtful, _ := table.Record(e.Partition)
	doubtful.Accepted = &Acceptance{Reason: "sold", Person: true}
	check(t, table.Commit(t.Context(), doubtful))
	got, _ := openTable(t, l).Recorded(e.Partition)
	if view, _ := table.Record(e.Partition); view.State != Publishing || got.State != Written || got.Hash != e.Hash ||
		got.Run != "a" || got.Seq != 2 || got.Accepted == nil {
		t.Errorf("accepted in doubt: %+v, seen as %s", got, view.State)
	}
}

// A lease that ends while a table is open is in doubt without another call.
func TestDoubtComesWithTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := distantLedger(t, nil)
		check(t, openTable(t, l).Commit(t.Context(), record(1, "before")))
		a := begin(t, openTable(t, l), "a", 1, 2)
		table := openTable(t, l)
		states := func() string {
			return fmt.Sprint(slices.Collect(func(yield func(State) bool) {
				for _, e := range table.Sorted() {
					yield(e.State)
				}
			}), len(table.Holders()))
		}
		before := states()
		a.Stop()
		calls := store.Calls.Load()
		time.Sleep(2*time.Minute + time.Second)
		if after := states(); before != "[written] 2" || after != "[publishing publishing] 0" ||
			store.Calls.Load() != calls {
			t.Errorf("%s, and after the lease %s", before, after)
		}
	})
}
