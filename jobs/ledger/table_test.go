package ledger

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
)

// short makes documents have room for a few lines of history, as long as the test goes on.
func short(t *testing.T) {
	was := mostHistory
	mostHistory = 400
	t.Cleanup(func() { mostHistory = was })
}

// A plan reads one object of months that haven't changed, however many there are.
func TestIndex(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx, table, early := t.Context(), openTable(t, l), openTable(t, l)
		for round := range 3 {
			for day := range 70 {
				check(t, table.Commit(ctx, record(day, fmt.Sprint("run", round))))
			}
			check(t, table.Tidy(ctx))
			if table.Untidy() {
				t.Error("a table that was tidied is untidy")
			}
			got := openTable(t, l)
			if list := got.Sorted(); len(list) != 70 || list[69].Run != fmt.Sprint("run", round) ||
				list[69].Seq != round+1 || len(got.docs) != 0 {
				t.Fatalf("round %d: %d records, the last %+v; months that were read: %d", round, len(list),
					list[len(list)-1], len(got.docs))
			}
			keys, err := l.list(ctx, "tables/installs/")
			check(t, err)
			if len(keys) != 4 {
				t.Errorf("round %d: objects %v, want three months and the index", round, keys)
			}
		}
		check(t, table.Commit(ctx, record(3, "later")))
		got := openTable(t, l)
		if e, _ := got.Record(record(3, "").Partition); e.Run != "later" || len(got.docs) != 1 {
			t.Errorf("by an index that is older than a month: %+v; months that were read: %d", e, len(got.docs))
		}
		check(t, early.Refresh(ctx))
		if len(early.Sorted()) != 70 {
			t.Errorf("a reader that was open all the time sees %d records", len(early.Sorted()))
		}
	})
}

// Readers, writers and those who tidy at once: nothing that was recorded is ever lost.
func TestTidyWhileOthersWrite(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx, each := t.Context(), 60
		if l.store.Dir() == "" && !strings.HasPrefix(l.url, "mem:") {
			// A server takes some milliseconds for each write, and Google's one write of an object
			// in a second.
			each = 15
		}
		var all sync.WaitGroup
		for writer := range 4 {
			all.Go(func() {
				table, err := l.Table(ctx, "installs")
				if err != nil {
					t.Error(err)
					return
				}
				for i := range each {
					if err := table.Commit(ctx, record(writer+4*i, "w")); err != nil {
						t.Error(err)
					}
					if i%(each/3) == each/3-1 {
						if err := table.Tidy(ctx); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		all.Wait()
		if got := len(openTable(t, l).Sorted()); got != 4*each {
			t.Errorf("%d records of %d", got, 4*each)
		}
	})
}

// Another process records in new months, and writes the index, between a listing and the reading of
// the index: nothing is gone.
func TestTheIndexIsNewerThanTheListing(t *testing.T) {
	meanwhile := func() {}
	l, _ := distantLedger(t, func(call, key string) {
		if call == "read" && strings.HasSuffix(key, indexName+".json") {
			meanwhile()
		}
	})
	other := openTable(t, l)
	months := func(from int) {
		for month := from; month < from+3; month++ {
			check(t, other.Commit(t.Context(), record(31*month, "a")))
		}
		check(t, other.Tidy(t.Context()))
	}
	months(0)
	times := 0
	meanwhile = func() {
		if times++; times <= 2 {
			months(3 * times)
		}
	}
	if table := openTable(t, l); len(table.Sorted()) != 9 || len(table.docs) != 0 || times != 3 {
		t.Errorf("%d records, by %d months and %d readings of the index", len(table.Sorted()), len(table.docs), times)
	}
}

func overwrite(t *testing.T, l *Ledger, key string, data []byte) {
	t.Helper()
	_, err := l.store.Put(t.Context(), key, data, bucket.Condition{})
	check(t, err)
}

// A month that can't be read, or is gone, is an error that says what to do, and never passes for a
// month that nobody has recorded. The index is a copy: when it can't be read, it is made anew.
func TestDamage(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx, table := t.Context(), openTable(t, l)
		for day := range 70 {
			check(t, table.Commit(ctx, record(day, "a")))
		}
		check(t, table.Tidy(ctx))
		const key = "tables/installs/months/2026-02.json"
		whole, _, err := l.store.Get(ctx, key)
		check(t, err)
		wants := func(what string, words ...string) {
			t.Helper()
			_, err := l.Table(ctx, "installs")
			var damaged *DamagedError
			if !errors.As(err, &damaged) {
				t.Fatalf("%s: read a damaged ledger: %v", what, err)
			}
			for _, want := range append(words, l.location(key)) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: the message lacks %q: %v", what, want, err)
				}
			}
		}
		overwrite(t, l, key, whole[:len(whole)/2])
		wants("cut in half", "is damaged", "delete it, and ", "months/index.json too")
		overwrite(t, l, key, []byte(`{"v":3,"token":"","xxh64":"","content":{}}`))
		wants("from the future", "was written by a newer version of reportferry: it is of version 3, and this "+
			"program reads version 2; use that one", "delete nothing")
		check(t, l.store.Delete(ctx, key))
		wants("gone", "is gone", "restore it from a copy, or, when there is none, delete ", "months/index.json too")
		if err := table.Refresh(ctx); err == nil || !strings.Contains(err.Error(), "is gone") {
			t.Errorf("a table that was open all the time: %v", err)
		}
		overwrite(t, l, key, whole)
		overwrite(t, l, "tables/installs/months/index.json", whole[:9])
		again := openTable(t, l)
		if len(again.Sorted()) != 70 || !again.Untidy() {
			t.Errorf("without the index there are %d records", len(again.Sorted()))
		}
		check(t, again.Tidy(ctx))
		if got := openTable(t, l); len(got.Sorted()) != 70 || len(got.docs) != 0 {
			t.Errorf("the index wasn't made anew: %d months were read", len(got.docs))
		}
	})
}

// Long history lies in objects of its own. One that can't be read is an error of history, and stops
// no plan.
func TestOlderHistory(t *testing.T) {
	short(t)
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx, table, said := t.Context(), openTable(t, l), almanac{}
		for night := range 12 {
			for day := range 2 {
				said.next(t, table, date("2026-01-15").AddDays(day), fmt.Sprint("h", night), Written,
					moment("2026-03-01T06:00:00Z").AddDate(0, 0, night))
			}
			check(t, table.Tidy(ctx))
		}
		keys, err := l.list(ctx, "tables/installs/history/")
		check(t, err)
		if m := table.document("2026-01").Last(); len(keys) < 3 || len(m.History) > 4 {
			t.Errorf("history is in %v and in %d lines of the month", keys, len(m.History))
		}
		got, err := openTable(t, l).History(ctx, civil.Date{}, civil.Date{})
		check(t, err)
		if want, _ := said.told(time.Time{}); fmt.Sprint(lines(got)) != fmt.Sprint(want) {
			t.Errorf("history is %v, want %v", lines(got), want)
		}
		overwrite(t, l, keys[1], []byte("{"))
		again := openTable(t, l)
		named := []string{keys[1], table.monthKey("2026-01"), table.monthKey(indexName)}
		wants := func(what string) {
			_, err = again.History(ctx, civil.Date{}, civil.Date{})
			var damaged *DamagedError
			if !errors.As(err, &damaged) || !strings.Contains(err.Error(), what) {
				t.Errorf("%v, want %q", err, what)
			}
			for _, key := range named {
				if !strings.Contains(err.Error(), l.location(key)) {
					t.Errorf("%q lacks %s", err, key)
				}
			}
		}
		wants("is damaged")
		check(t, l.store.Delete(ctx, keys[1]))
		wants("is gone")
		said.next(t, again, date("2026-01-15"), "more", Written, moment("2026-04-01T06:00:00Z"))
		check(t, again.Tidy(ctx))
		check(t, l.store.Delete(ctx, named...)) // as the message says
		anew := openTable(t, l)
		if got, err := anew.History(ctx, civil.Date{}, civil.Date{}); err != nil || len(got)+len(anew.Sorted()) != 0 {
			t.Errorf("once all that is named was deleted: %v, %v", got, err)
		}
	})
}

// Of two that move history at once, each by what it has read, one does: no line is in two objects.
func TestHistoryIsMovedOnce(t *testing.T) {
	short(t)
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx, said := t.Context(), almanac{}
		early, late := openTable(t, l), openTable(t, l)
		commit := func(table *Table, nights ...int) {
			for _, night := range nights {
				said.next(t, table, date("2026-01-15"), fmt.Sprint("h", night), Written,
					moment("2026-03-01T06:00:00Z").AddDate(0, 0, night))
			}
		}
		commit(early, 1, 2, 3)
		check(t, late.Refresh(ctx))
		commit(late, 4)
		// Late has read one line more, and early has moved the others by then.
		for _, table := range []*Table{early, late} {
			check(t, table.archive(ctx, "2026-01", table.document("2026-01")))
		}
		m, _, err := early.document("2026-01").Load(ctx)
		check(t, err)
		older, err := early.readOlder(ctx, "2026-01", m.Older)
		check(t, err)
		if seqs := lines(append(older, m.History...)); len(seqs) != 3 {
			t.Errorf("history is %v in %v and the month, want three lines", seqs, m.Older)
		}
		if keys, err := l.list(ctx, "tables/installs/history/"); err != nil || len(keys) != 1 {
			t.Errorf("there are the objects %v, want one: %v", keys, err)
		}
	})
}

// History that is older than it is kept is dropped by the store's clock, and what partitions hold
// stays.
func TestHistoryIsKeptForSoLong(t *testing.T) {
	fetched := []string{"2026-01-31T23:59:00Z", "2026-02-02T00:00:00Z", "2026-03-01T06:00:00Z", "2026-03-02T06:00:00Z"}
	for _, few := range []bool{false, true} {
		for _, c := range []struct {
			keep time.Duration
			want int
		}{{0, 4}, {31 * 24 * time.Hour, 3}, {29 * 24 * time.Hour, 2}} {
			if few && c.want == 3 {
				c.want = 4 // an object goes as a whole
			}
			synctest.Test(t, func(t *testing.T) {
				if few {
					short(t)
				}
				l, _ := distantLedger(t, nil)
				time.Sleep(time.Until(moment("2026-03-04T06:00:00Z")))
				table, said := openTable(t, l), almanac{}
				for _, at := range fetched {
					said.next(t, table, date("2026-01-15"), at, Written, moment(at))
					check(t, table.Tidy(t.Context()))
				}
				l.keepHistory = c.keep
				table = openTable(t, l)
				_, err := table.History(t.Context(), civil.Date{}, civil.Date{}) // reads the month
				check(t, err)
				check(t, table.Tidy(t.Context()))
				got, err := openTable(t, l).History(t.Context(), civil.Date{}, civil.Date{})
				check(t, err)
				if len(got) != c.want || got[len(got)-1].Hash != fetched[3] {
					t.Errorf("kept for %v: %v", c.keep, lines(got))
				}
			})
		}
	}
}

// The records of a month that commits at the same time share few writes, and each is refused by
// itself.
func TestCommitsShareAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var puts atomic.Int64
		l, _ := distantLedger(t, func(call, key string) {
			if strings.HasSuffix(key, "months/2026-01.json") && (call == "create" || call == "write") {
				puts.Add(1)
				time.Sleep(time.Second)
			}
		})
		table, other := openTable(t, l), openTable(t, l)
		check(t, other.Commit(t.Context(), record(7, "other")))
		var all sync.WaitGroup
		for day := range 20 {
			all.Go(func() {
				if err := table.Commit(t.Context(), record(day, "a")); (day == 7) != errors.Is(err, ErrLost) {
					t.Errorf("day %d: %v", day, err)
				}
			})
		}
		all.Wait()
		if n := puts.Load(); n > 5 {
			t.Errorf("%d records took %d writes", 20, n)
		}
	})
}

// A ledger that an earlier version has written is refused in one sentence, and nothing is written
// to it.
func TestAnOlderLedgerIsRefused(t *testing.T) {
	l := memLedger(t)
	overwrite(t, l, "tables/installs/segments/000001.json", []byte("{}"))
	if _, err := l.Table(t.Context(), "installs"); !errors.Is(err, ErrRefused) ||
		!strings.Contains(err.Error(), "earlier version") {
		t.Errorf("an older ledger: %v", err)
	}
}
