package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/jobs/ledger/ledgertest"
)

func memLedger(t *testing.T) *Ledger {
	l := Open(Options{Bucket: memblob.OpenBucket(nil), URL: "mem://ledger"})
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
	d := &ledgertest.Store{Bucket: memblob.OpenBucket(nil), Before: before}
	l := Open(Options{Bucket: d.Open(), URL: "mem://ledger"})
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
		Partition: date("2026-01-01").AddDays(day), Run: run, State: Written, Rows: int64(day + 1), Hash: fmt.Sprint("h", day),
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
		if len(got) != 5 || got[2].Run != "b" || got[2].Seq != 4 || got[2].After != 3 || got[1].Seq != 2 || got[1].After != 0 || got[4].Sums["installs"] != "12" {
			t.Errorf("read back %+v", got)
		}
		keys, err := l.list(ctx, "tables/installs/partitions/")
		check(t, err)
		if len(keys) != 6 {
			t.Errorf("%d objects for six records: only folding may drop one: %v", len(keys), keys)
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
		// A creation that succeeded though its answer was lost: the same record again is no conflict.
		check(t, mine.Refresh(ctx))
		again := openTable(t, l)
		check(t, mine.Commit(ctx, record(0, "mine")))
		check(t, again.Commit(ctx, record(0, "mine")))
	})
}

func TestFold(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx, table := t.Context(), openTable(t, l)
		early := openTable(t, l)
		for round := range 3 {
			for day := range 70 {
				check(t, table.Commit(ctx, record(day, fmt.Sprint("run", round))))
			}
			check(t, table.Fold(ctx))
			fresh := openTable(t, l)
			if got := fresh.Sorted(); len(got) != 70 || got[69].Run != fmt.Sprint("run", round) || got[69].Seq != 4*(round+1) {
				t.Fatalf("after fold %d: %d records, the last %+v", round, len(got), got[len(got)-1])
			}
			all, err := l.list(ctx, "tables/installs/")
			check(t, err)
			if want := 1 + min(round, 1); len(all) != want {
				t.Errorf("after fold %d: objects %v, want one segment and the history of a month", round, all)
			}
		}
		check(t, early.Refresh(ctx))
		if len(early.Sorted()) != 70 {
			t.Errorf("a reader that was open all the time sees %d records", len(early.Sorted()))
		}
	})
}

// A long run folds as it goes on, and not at every window: neither where nothing may be deleted, nor where another process folds.
func TestRelieve(t *testing.T) {
	const records, foldAbove = 60, 2
	for name, c := range map[string]struct{ keeps, others bool }{"alone": {}, "where nothing may be deleted": {keeps: true}, "where others fold": {others: true}} {
		var folds, deletes atomic.Int64
		l, store := distantLedger(t, func(call, key string) {
			if call == "create" && strings.Contains(key, "/segments/") {
				folds.Add(1)
			}
			if call == "delete" {
				deletes.Add(1)
			}
		})
		l.foldAbove, store.Keeps = foldAbove, c.keeps
		table, looks := openTable(t, l), 0
		for day := range records {
			check(t, table.Commit(t.Context(), record(day, "a")))
			if c.others {
				check(t, openTable(t, l).Fold(t.Context()))
			}
			before := store.Calls.Load()
			table.Relieve(t.Context())
			if store.Calls.Load() > before {
				looks++
			}
		}
		if most := records/(relieveAbove*foldAbove) + 1; !c.others && looks == 0 || looks > most {
			t.Errorf("%s: %d of %d records were followed by a look at the table, want %d at most", name, looks, records, most)
		}
		if n := folds.Load(); n == 0 || !c.others && n > int64(looks) {
			t.Errorf("%s: %d folds", name, n)
		}
		if n := deletes.Load(); c.keeps && n > int64(looks*(readers+2)) {
			t.Errorf("%s: %d deletes were tried", name, n)
		}
		if got := openTable(t, l).Sorted(); len(got) != records {
			t.Errorf("%s: %d records, want %d", name, len(got), records)
		}
	}
}

// Whoever reads while a slow folder drops what it has folded isn't stopped by that, however long it takes.
func TestReadWhileADropGoesOn(t *testing.T) {
	const records = 30
	var drop func()
	l, store := distantLedger(t, func(call, key string) {
		if drop != nil && call == "list" && strings.Contains(key, "/segments/") {
			drop()
		}
	})
	store.Keeps = true
	table := openTable(t, l)
	for n := range records { // of one week, and Sunday's record is the first
		check(t, table.Commit(t.Context(), record(3+min(n, 6), fmt.Sprint("run", n))))
	}
	check(t, table.Fold(t.Context()))
	dropped := 0
	drop = func() { // one more by each look
		keys, err := l.list(t.Context(), "tables/installs/partitions/")
		check(t, err)
		if len(keys) > 0 {
			dropped++
			check(t, store.Delete(t.Context(), keys[len(keys)-1]))
		}
	}
	got := openTable(t, l)
	if list := got.Sorted(); len(list) != 7 || list[6].Run != fmt.Sprint("run", records-1) || dropped == 0 {
		t.Errorf("%d records, the last %+v, after %d were dropped", len(list), list[len(list)-1], dropped)
	}
}

// A reader that finds an object gone which its segment holds, because a newer segment is being tidied up behind, begins anew: what it has
// read by then isn't all.
func TestReadBeginsAnew(t *testing.T) {
	var meanwhile func()
	l, store := distantLedger(t, func(call, key string) {
		if do := meanwhile; do != nil && call == "read" && strings.Contains(key, "/partitions/2026-01-04.") {
			meanwhile = nil
			do()
		}
	})
	l.foldAbove, store.Keeps = 0, true
	ctx := t.Context()
	table := openTable(t, l)
	monday, later := record(4, "folded"), record(11, "loose")
	check(t, table.Commit(ctx, monday))
	check(t, table.Fold(ctx))
	check(t, table.Commit(ctx, later))
	folder := openTable(t, l)
	meanwhile = func() {
		_ = folder.Fold(ctx) // makes a segment, and may delete nothing
		_ = store.Delete(ctx, entryKey("installs", weekOf(monday.Partition), 1))
	}
	got := openTable(t, l)
	if list := got.Sorted(); len(list) != 2 || meanwhile != nil {
		t.Errorf("%d records of 2: %+v", len(list), list)
	}
}

// Readers, writers and folders at once: nothing that was recorded is ever lost.
func TestFoldWhileOthersWrite(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx := t.Context()
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				table, err := l.Table(ctx, "installs")
				if err != nil {
					t.Error(err)
					return
				}
				for i := range 60 {
					if err := table.Commit(ctx, record(w*1000+i, "w")); err != nil {
						t.Error(err)
					}
					if i%20 == 19 {
						if err := table.Fold(ctx); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		if got := len(openTable(t, l).Sorted()); got != 240 {
			t.Errorf("%d records of 240", got)
		}
	})
}

// A folder that was slow must not drop what the segment that holds doesn't have.
func TestFoldBySlowFolder(t *testing.T) {
	l, d := distantLedger(t, nil)
	slow := openTable(t, l)
	for day := range 70 {
		check(t, slow.Commit(t.Context(), record(day, "a")))
	}
	at(d, "create", "segments/000001.json", func() { // others are further, and dropped number 1
		check(t, l.create(t.Context(), segmentKey("installs", 2), mustEncode(t, []Record{})))
	})
	check(t, slow.Fold(t.Context()))
	if got := len(openTable(t, l).Sorted()); got != 70 {
		t.Errorf("%d records of 70", got)
	}
}

func mustEncode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := encodeObject(v)
	check(t, err)
	return data
}

func TestDamage(t *testing.T) {
	cut := func(data string) string { return data[:len(data)/2] }
	damage := map[string]struct {
		do   func(data, other string) string
		want string
	}{
		"a flipped digit": {func(data, _ string) string { return strings.Replace(data, `"rows":3`, `"rows":4`, 1) }, "checksum is "},
		"cut in half":     {func(data, _ string) string { return cut(data) }, "unexpected end of JSON input"},
		"emptied":         {func(string, string) string { return "" }, "unexpected end of JSON input"},
		"another's": {
			func(_, other string) string { return other },
			"record 2 of 2026-01-02 doesn't belong there",
		},
		"from the future": {
			func(string, string) string { return `{"v":2,"xxh64":"","content":{}}` }, "was written by a newer version of reportferry: it is of version 2, and this program reads version 1; use that one",
		},
	}
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx, table := t.Context(), openTable(t, l)
		for day := range 4 {
			check(t, table.Commit(ctx, record(day, "a")))
		}
		const key = "tables/installs/partitions/2025-12-28.000003.json"
		whole, err := l.get(ctx, key)
		check(t, err)
		other, err := l.get(ctx, strings.Replace(key, "3.json", "2.json", 1))
		check(t, err)
		for name, c := range damage {
			check(t, l.put(ctx, key, []byte(c.do(whole, other)), &blob.WriterOptions{}))
			_, err := l.Table(ctx, "installs")
			var damaged *DamagedError
			if !errors.As(err, &damaged) {
				t.Fatalf("%s: read a damaged ledger: %v", name, err)
			}
			advice := []string{"inspect it", "delete it"}
			if name == "from the future" {
				advice = []string{"use that one", "delete nothing"}
			}
			for _, want := range append(advice, l.location(key), c.want) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: the message lacks %q: %v", name, want, err)
				}
			}
		}
	})
}

func TestMissingSegmentIsDamage(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx := t.Context()
		table := openTable(t, l)
		for day := range 70 {
			check(t, table.Commit(ctx, record(day, "a")))
		}
		check(t, table.Fold(ctx))
		check(t, table.Commit(ctx, record(70, "b")))
		check(t, l.bucket.Delete(ctx, segmentKey("installs", 1)))
		var damaged *DamagedError
		if _, err := l.Table(ctx, "installs"); !errors.As(err, &damaged) {
			t.Errorf("a ledger without its segment starts afresh: %v", err)
		}
	})
}

func TestRuns(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx := t.Context()
		if _, ran, err := l.LastRun(ctx); ran || err != nil {
			t.Fatal(ran, err)
		}
		start := time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC)
		for night := range keepRuns + 5 {
			r := Run{ID: NewRunID(start.AddDate(0, 0, night)), Trigger: "manual", Ended: &start, Exit: night}
			check(t, l.SaveRun(ctx, r))
		}
		last, ran, err := l.LastRun(ctx)
		if !ran || err != nil || last.Exit != keepRuns+4 {
			t.Errorf("the last run is %+v, %v", last, err)
		}
		three, err := l.Runs(ctx, 3)
		if err != nil || len(three) != 3 || three[0].Exit != keepRuns+4 || three[2].Exit != keepRuns+2 {
			t.Errorf("the last three: %+v, %v", three, err)
		}
		if all, err := l.Runs(ctx, 1000); err != nil || len(all) != keepRuns {
			t.Errorf("all: %d, %v", len(all), err)
		}
		keys, err := l.list(context.Background(), "runs/")
		check(t, err)
		if len(keys) != keepRuns {
			t.Errorf("%d run records are kept, want %d", len(keys), keepRuns)
		}
	})
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

// A table that was let go has no records until it is read again, which brings all of them, and then it goes on as one that was just opened.
func TestLetGo(t *testing.T) {
	everyLedger(t, func(t *testing.T, l *Ledger) {
		ctx, table, other := t.Context(), openTable(t, l), openTable(t, l)
		for day := range 12 {
			check(t, table.Commit(ctx, record(day, "a")))
		}
		check(t, table.Fold(ctx))
		check(t, table.Commit(ctx, record(3, "b")))
		lent := table.Records()
		table.LetGo()
		if _, known := table.Record(record(3, "").Partition); known || table.Has() || len(table.Records()) != 0 {
			t.Error("a table that was let go has records")
		}
		check(t, other.Refresh(ctx))
		check(t, other.Commit(ctx, record(4, "c"))) // by another process meanwhile
		check(t, table.Refresh(ctx))
		if got := table.Records(); !table.Has() || len(got) != 12 || got[record(3, "").Partition].Run != "b" || got[record(4, "").Partition].Run != "c" {
			t.Errorf("read again: %v", got)
		}
		check(t, table.Commit(ctx, record(4, "d")))
		check(t, table.Fold(ctx))
		check(t, other.Refresh(ctx))
		if e, _ := other.Record(record(4, "").Partition); e.Run != "d" {
			t.Errorf("the other process reads %+v", e)
		}
		if len(lent) != 12 || lent[record(4, "").Partition].Run != "a" {
			t.Errorf("records that were given away have changed: %v", lent)
		}
	})
}
