package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/ledger/ledgertest"
)

func memLedger(t *testing.T) *Ledger {
	l := Open(Options{Store: bucket.NewMemory(), URL: "mem://ledger"})
	t.Cleanup(func() { check(t, l.Close()) })
	return l
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// distantLedger is a ledger over distant memory.
func distantLedger(t testing.TB, before func(call, key string)) (*Ledger, *ledgertest.Store) {
	d := &ledgertest.Store{Memory: &bucket.Memory{}, Before: before}
	l := Open(Options{Store: d.Open(), URL: "mem://ledger"})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, d
}

func openTable(t *testing.T, l *Ledger) *Table {
	t.Helper()
	table, err := l.Table(t.Context(), "installs")
	check(t, err)
	return table
}

func record(day int, run string) Record {
	return Record{
		Partition: date("2026-01-01").AddDays(day), Run: run, State: Written, Rows: int64(day + 1),
		Hash:    fmt.Sprint("h", day),
		Fetched: time.Date(2026, 3, 1, 6, 0, day, 0, time.UTC), Sums: map[string]string{"installs": "12"},
	}
}

func TestRecordAndReadBack(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx, table := t.Context(), openTable(t, l)
		for day := range 5 {
			check(t, table.Commit(ctx, record(day, "a")))
		}
		check(t, table.Commit(ctx, record(2, "b")))
		got := openTable(t, l).Sorted()
		if len(got) != 5 || got[2].Run != "b" || got[2].Seq != 2 || got[2].After != 1 || got[1].Seq != 1 ||
			got[1].After != 0 || got[4].Sums["installs"] != "12" {
			t.Errorf("read back %+v", got)
		}
		keys, err := l.list(ctx, "tables/installs/")
		check(t, err)
		if len(keys) != 1 {
			t.Errorf("six records of one month are in %v", keys)
		}
	})
}

func TestRecordNoticesAnotherWriter(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx := t.Context()
		mine, other := openTable(t, l), openTable(t, l)
		check(t, other.Commit(ctx, record(0, "other")))
		if err := mine.Commit(ctx, record(0, "mine")); !errors.Is(err, ErrLost) {
			t.Fatalf("a record over another's: %v, want ErrLost", err)
		}
		if e, _ := openTable(t, l).Record(date("2026-01-01")); e.Run != "other" {
			t.Errorf("the record is %q's", e.Run)
		}
		// A creation that succeeded though its answer was lost: the same record again is no
		// conflict.
		check(t, mine.Refresh(ctx))
		again := openTable(t, l)
		check(t, mine.Commit(ctx, record(0, "mine")))
		check(t, again.Commit(ctx, record(0, "mine")))
	})
}

// list gives the keys of the ledger's objects under a prefix, ascending.
func (l *Ledger) list(ctx context.Context, prefix string) (keys []string, err error) {
	objects, err := l.store.List(ctx, prefix)
	for _, o := range objects {
		if strings.HasSuffix(o.Key, ".json") {
			keys = append(keys, o.Key)
		}
	}
	return keys, err
}

func date(text string) civil.Date {
	d, err := civil.ParseDate(text)
	if err != nil {
		panic(err)
	}
	return d
}

func moment(text string) time.Time {
	for _, layout := range []string{"2006-01-02T15:04", time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	panic(text)
}

// A table that was released has no records until it is read again, which brings all of them, and
// then it goes on as one that was just opened.
func TestRelease(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx, table, other := t.Context(), openTable(t, l), openTable(t, l)
		for day := range 12 {
			check(t, table.Commit(ctx, record(day, "a")))
		}
		check(t, table.Tidy(ctx))
		check(t, table.Commit(ctx, record(3, "b")))
		lent := table.Records()
		table.Release()
		if _, known := table.Record(record(3, "").Partition); known || table.Has() || len(table.Records()) != 0 {
			t.Error("a table that was released has records")
		}
		check(t, other.Refresh(ctx))
		check(t, other.Commit(ctx, record(4, "c"))) // by another process meanwhile
		check(t, table.Refresh(ctx))
		if got := table.Records(); !table.Has() || len(got) != 12 || got[record(3, "").Partition].Run != "b" ||
			got[record(4, "").Partition].Run != "c" {
			t.Errorf("read again: %v", got)
		}
		check(t, table.Commit(ctx, record(4, "d")))
		check(t, table.Tidy(ctx))
		check(t, other.Refresh(ctx))
		if e, _ := other.Record(record(4, "").Partition); e.Run != "d" {
			t.Errorf("the other process reads %+v", e)
		}
		if len(lent) != 12 || lent[record(4, "").Partition].Run != "a" {
			t.Errorf("records that were given away have changed: %v", lent)
		}
	})
}

func days(numbers ...int) (list []civil.Date) {
	for _, n := range numbers {
		list = append(list, record(n, "").Partition)
	}
	return list
}

func begin(t *testing.T, table *Table, run string, numbers ...int) *Lease {
	t.Helper()
	l, err := table.Begin(t.Context(), run, days(numbers...))
	check(t, err)
	return l
}

// die leaves a lease without a sign of life until it is over.
func die(l *Lease) {
	l.Stop()
	time.Sleep(l.table.ledger.lease + time.Second)
}

// commitUnder records a day under a lease, on top of the record that its table has.
func commitUnder(t *testing.T, l *Lease, e Record) error {
	was, _ := l.table.Recorded(e.Partition)
	e.After = was.Seq
	return l.table.CommitAll(t.Context(), l, []Record{e})[0]
}
