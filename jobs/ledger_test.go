package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"
)

func memLedger(t *testing.T) *Ledger {
	l := OpenLedger(LedgerOptions{Bucket: memblob.OpenBucket(nil), URL: "mem://ledger"})
	t.Cleanup(func() { check(t, l.Close()) })
	return l
}

func fileLedger(t *testing.T, dir string) *Ledger {
	t.Helper()
	bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{CreateDir: true, NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	check(t, err)
	l := OpenLedger(LedgerOptions{Bucket: bucket, Dir: dir, URL: "file://" + dir})
	t.Cleanup(func() { check(t, l.Close()) })
	return l
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openTable(t *testing.T, l *Ledger) *Table {
	t.Helper()
	table, err := l.Table(t.Context(), "installs")
	check(t, err)
	return table
}

// bothLedgers runs a test on a store with its own conditional create, and on files.
func bothLedgers(t *testing.T, test func(*testing.T, *Ledger)) {
	t.Run("mem", func(t *testing.T) { test(t, memLedger(t)) })
	t.Run("file", func(t *testing.T) { test(t, fileLedger(t, t.TempDir())) })
}

func entry(day int, run string) Entry {
	return Entry{
		Partition: date("2026-01-01").AddDays(day), Run: run, State: Written, Rows: int64(day + 1), Hash: fmt.Sprint("h", day),
		Fetched: time.Date(2026, 3, 1, 6, 0, day, 0, time.UTC), Sums: map[string]string{"installs": "12"},
	}
}

func TestRecordAndReadBack(t *testing.T) {
	bothLedgers(t, func(t *testing.T, l *Ledger) {
		ctx, table := t.Context(), openTable(t, l)
		for day := range 5 {
			check(t, table.Record(ctx, entry(day, "a")))
		}
		check(t, table.Record(ctx, entry(2, "b")))
		got := openTable(t, l).Sorted()
		if len(got) != 5 || got[2].Run != "b" || got[2].Seq != 2 || got[1].Seq != 1 || got[4].Sums["installs"] != "12" {
			t.Errorf("read back %+v", got)
		}
		keys, err := l.list(ctx, "tables/installs/partitions/")
		check(t, err)
		if len(keys) != 5 {
			t.Errorf("%d objects for five partitions: a replaced record isn't dropped: %v", len(keys), keys)
		}
	})
}

func TestRecordNoticesAnotherWriter(t *testing.T) {
	bothLedgers(t, func(t *testing.T, l *Ledger) {
		ctx := t.Context()
		mine, other := openTable(t, l), openTable(t, l)
		check(t, other.Record(ctx, entry(0, "other")))
		if err := mine.Record(ctx, entry(0, "mine")); !errors.Is(err, ErrLost) {
			t.Fatalf("a record over another's: %v, want ErrLost", err)
		}
		if e, _ := openTable(t, l).Entry(date("2026-01-01")); e.Run != "other" {
			t.Errorf("the record is %q's", e.Run)
		}
		// A creation that succeeded though its answer was lost: the same record again is no conflict.
		check(t, mine.Refresh(ctx))
		again := openTable(t, l)
		check(t, mine.Record(ctx, entry(0, "mine")))
		check(t, again.Record(ctx, entry(0, "mine")))
	})
}

func TestFold(t *testing.T) {
	bothLedgers(t, func(t *testing.T, l *Ledger) {
		ctx, table := t.Context(), openTable(t, l)
		early := openTable(t, l)
		for round := range 3 {
			for day := range 100 {
				check(t, table.Record(ctx, entry(day, fmt.Sprint("run", round))))
			}
			check(t, table.Fold(ctx))
			fresh := openTable(t, l)
			if got := fresh.Sorted(); len(got) != 100 || got[99].Run != fmt.Sprint("run", round) || got[99].Seq != round+1 {
				t.Fatalf("after fold %d: %d records, the last %+v", round, len(got), got[len(got)-1])
			}
			all, err := l.list(ctx, "tables/installs/")
			check(t, err)
			if len(all) != 1 {
				t.Errorf("after fold %d: objects %v, want one segment", round, all)
			}
		}
		check(t, early.Refresh(ctx))
		if len(early.Sorted()) != 100 {
			t.Errorf("a reader that was open all the time sees %d records", len(early.Sorted()))
		}
	})
}

// Readers, writers and folders at once: nothing that was recorded is ever lost.
func TestFoldWhileOthersWrite(t *testing.T) {
	l := memLedger(t)
	ctx := t.Context()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			table, err := l.Table(ctx, "installs")
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 150 {
				if err := table.Record(ctx, entry(w*1000+i, "w")); err != nil {
					t.Error(err)
				}
				if i%40 == 39 {
					if err := table.Fold(ctx); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if got := len(openTable(t, l).Sorted()); got != 600 {
		t.Errorf("%d records of 600", got)
	}
}

// A folder that was slow must not drop what the segment that holds doesn't have.
func TestFoldBySlowFolder(t *testing.T) {
	l, ctx := memLedger(t), t.Context()
	slow := openTable(t, l)
	for day := range 70 {
		check(t, slow.Record(ctx, entry(day, "a")))
	}
	check(t, l.create(ctx, segmentKey("installs", 2), mustEncode(t, []Entry{}))) // others are further, and dropped number 1
	slow.segment = 0
	keys, err := l.list(ctx, "tables/installs/partitions/")
	check(t, err)
	check(t, slow.fold(ctx, keys, 1))
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
	damage := map[string]struct {
		do   func(t *testing.T, path string)
		want string
	}{
		"a flipped digit": {func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			check(t, err)
			check(t, os.WriteFile(path, []byte(strings.Replace(string(data), `"rows":3`, `"rows":4`, 1)), 0o600))
		}, "checksum is "},
		"cut in half": {func(t *testing.T, path string) {
			info, err := os.Stat(path)
			check(t, err)
			check(t, os.Truncate(path, info.Size()/2))
		}, "unexpected end of JSON input"},
		"emptied": {func(t *testing.T, path string) { check(t, os.Truncate(path, 0)) }, "unexpected end of JSON input"},
		"another's": {func(t *testing.T, path string) {
			data, err := os.ReadFile(strings.Replace(path, "01-03", "01-02", 1))
			check(t, err)
			check(t, os.WriteFile(path, data, 0o600))
		}, "its content belongs under tables/installs/partitions/2026-01-02.000001.json"},
		"from the future": {func(t *testing.T, path string) {
			check(t, os.WriteFile(path, []byte(`{"v":2,"xxh64":"","content":{}}`), 0o600))
		}, "version 2, this program reads version 1"},
	}
	for name, c := range damage {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := fileLedger(t, dir)
			table := openTable(t, l)
			for day := range 4 {
				check(t, table.Record(t.Context(), entry(day, "a")))
			}
			path := filepath.Join(dir, "tables/installs/partitions/2026-01-03.000001.json")
			c.do(t, path)
			_, err := l.Table(t.Context(), "installs")
			var damaged *DamagedError
			if !errors.As(err, &damaged) {
				t.Fatalf("read a damaged ledger: %v", err)
			}
			for _, want := range []string{"file://" + path, c.want, "inspect it", "delete it"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the message lacks %q: %v", want, err)
				}
			}
		})
	}
}

func TestMissingSegmentIsDamage(t *testing.T) {
	l, ctx := memLedger(t), t.Context()
	table := openTable(t, l)
	for day := range 70 {
		check(t, table.Record(ctx, entry(day, "a")))
	}
	check(t, table.Fold(ctx))
	check(t, table.Record(ctx, entry(70, "b")))
	check(t, l.bucket.Delete(ctx, segmentKey("installs", 1)))
	var damaged *DamagedError
	if _, err := l.Table(ctx, "installs"); !errors.As(err, &damaged) {
		t.Errorf("a ledger without its segment starts afresh: %v", err)
	}
}

func TestRuns(t *testing.T) {
	l, ctx := memLedger(t), t.Context()
	if _, ran, err := l.LastRun(ctx); ran || err != nil {
		t.Fatal(ran, err)
	}
	start := time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC)
	for night := range keepRuns + 5 {
		r := RunRecord{ID: NewRunID(start.AddDate(0, 0, night)), Trigger: "manual", Exit: night}
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
}
