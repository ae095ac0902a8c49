package report_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"
	"github.com/apache/arrow-go/v18/parquet/file"
	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/report"
)

// stamps reads the two columns that tell of the fetch; they come last.
func (r *rig) stamps(day civil.Date) (loaded, run string) {
	r.t.Helper()
	got := readParquet(r.t, r.files()[day])
	last := len(got.names) - 1
	if len(got.rows) == 0 || last < 1 || got.names[last-1] != "_loaded_at" || got.names[last] != "_run" {
		r.t.Fatalf("%s: %d rows of columns %v", day, len(got.rows), got.names)
	}
	for _, row := range got.rows {
		if !slices.Equal(row[last-1:], got.rows[0][last-1:]) {
			r.t.Fatalf("%s: stamps %v and %v", day, row[last-1:], got.rows[0][last-1:])
		}
	}
	return got.rows[0][last-1], got.rows[0][last]
}

// recorded is the record of a day, by a ledger that was read anew.
func (r *rig) recorded(day civil.Date) ledger.Record {
	r.t.Helper()
	t, err := r.ledger.Table(r.t.Context(), "installs")
	check(r.t, err)
	e, _ := t.Record(day)
	return e
}

// A row says when its fetch began and which run it was, as the ledger does. Rows that come back the
// same stay with what they say, and aren't put again.
func TestStamps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 5, Apps: 2, Rate: -1})
		defer r.close()
		time.Sleep(30*24*time.Hour + 6*time.Hour)
		today := civil.DateOf(time.Now())
		r.from(today.AddDays(-6))
		r.options.Stamps = []table.Stamp{table.LoadedAt, table.LoadedBy}
		r.ok()
		first := map[civil.Date]string{}
		for day := range r.files() {
			loaded, run := r.stamps(day)
			if want := r.recorded(day).Fetched.UTC().Format("2006-01-02T15:04:05"); loaded != want || run != "run-1" {
				t.Errorf("%s: loaded at %s by %s, want %s by run-1", day, loaded, run, want)
			}
			first[day] = loaded
		}
		if len(first) == 0 {
			t.Fatal("nothing is there")
		}
		time.Sleep(24 * time.Hour)
		again := r.ok()
		if again.Outcome.Unchanged+again.Outcome.Written < 3 {
			t.Fatalf("%+v", again.Outcome)
		}
		same := 0
		for day := range first {
			e := r.recorded(day)
			loaded, run := r.stamps(day)
			switch {
			case e.State == ledger.Unchanged:
				same++
				if loaded != first[day] || run != "run-1" {
					t.Errorf("%s: unchanged, and loaded at %s by %s", day, loaded, run)
				}
			case e.Run == "run-2" && (run != "run-2" || loaded != e.Fetched.UTC().Format("2006-01-02T15:04:05")):
				t.Errorf("%s: rewritten, and loaded at %s by %s", day, loaded, run)
			}
		}
		t.Logf("%d of %d stayed", same, len(first))
	})
}

// Stamps are added as a metric is: older partitions are fetched again for them, or stay without
// them until somebody asks. The numbers count as neither moved nor restated, and taking the stamps
// away asks for nothing.
func TestStampsAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 5, Apps: 2, Rate: -1})
		defer r.close()
		time.Sleep(60 * 24 * time.Hour)
		r.from(civil.DateOf(time.Now()).AddDays(-40))
		r.ok()
		before := len(r.files())
		r.options.Stamps = []table.Stamp{table.LoadedAt, table.LoadedBy}
		r.options.Rules.LaterColumns = true
		if res := r.ok(); res.Outcome.Written != r.options.Rules.Lookback { // those that are fetched anyway
			t.Errorf("later columns: %+v", res.Outcome)
		}
		r.options.Rules.LaterColumns = false
		if res := r.ok(); res.Outcome.Written+res.Outcome.Unchanged < before || res.Outcome.Moved > 0 ||
			len(r.files()) != before {
			t.Errorf("of %d files: %+v", before, res.Outcome)
		}
		for day := range r.files() {
			if _, run := r.stamps(day); run != "run-3" && run != "run-2" {
				t.Errorf("%s: by %s", day, run)
			}
		}
		tab, err := r.ledger.Table(t.Context(), "installs")
		check(t, err)
		history, err := tab.History(t.Context(), civil.Date{}, civil.Date{})
		check(t, err)
		if changes := refresh.Changes(history); len(changes) > 0 {
			t.Errorf("%d changes, the first %+v", len(changes), changes[0])
		}
		r.options.Stamps = nil
		if res := r.ok(); res.Outcome.Written+res.Outcome.Unchanged != r.options.Rules.Lookback {
			t.Errorf("without stamps: %+v", res.Outcome)
		}
	})
}

// What is replayed says when its kept answer was fetched, as the ledger does, and which run
// replayed it.
func TestStampsReplayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 5, Apps: 2, Rate: -1})
		defer r.close()
		keeping(r, memblob.OpenBucket(nil), true)
		time.Sleep(30 * 24 * time.Hour)
		r.from(civil.DateOf(time.Now()).AddDays(-6))
		r.ok()
		r.options.Stamps = []table.Stamp{table.LoadedAt, table.LoadedBy}
		time.Sleep(time.Hour)
		r.replayed(report.Replay{})
		for day := range r.files() {
			loaded, run := r.stamps(day)
			if e := r.recorded(day); run != "replay-2" || e.Run != run ||
				loaded != e.Fetched.UTC().Format("2006-01-02T15:04:05") {
				t.Errorf("%s: loaded at %s by %s, recorded %s by %s", day, loaded, run, e.Fetched, e.Run)
			}
		}
		if res := r.ok(); res.Outcome.Written > 0 {
			t.Errorf("the stamps are there, and yet %+v", res.Outcome)
		}
	})
}

// Whatever night wrote a file, it has the columns of the config in its order. An added metric is in
// all of them once the next run is done; until then older files lack it, and have the others in the
// same order and types. The description beside the table has them all.
func TestOneSchema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 5, Apps: 2, Rate: -1})
		defer r.close()
		time.Sleep(60 * 24 * time.Hour)
		r.from(civil.DateOf(time.Now()).AddDays(-20))
		r.ok()
		r.options.Query.Metrics = slices.Insert(slices.Clone(r.options.Query.Metrics), 2, "impressions")
		r.options.Stamps = []table.Stamp{table.LoadedAt}
		r.options.Rules.LaterColumns = true
		r.ok()
		schemas := map[string]int{}
		for _, path := range r.files() {
			got := readParquet(t, path)
			var all []string
			for i, name := range got.names {
				if name != "impressions" && name != "_loaded_at" {
					all = append(all, name+" "+got.kinds[i].String())
				}
			}
			schemas[strings.Join(all, ",")]++
		}
		if len(schemas) != 1 {
			t.Errorf("the columns that files have in common differ: %v", schemas)
		}
		r.options.Rules.LaterColumns = false
		r.ok()
		clear(schemas)
		for _, path := range r.files() {
			got := readParquet(t, path)
			schemas[strings.Join(got.names, ",")+fmt.Sprint(got.kinds)]++
			text, err := os.ReadFile(filepath.Join(r.out, "installs.dataset.json"))
			check(t, err)
			var described struct{ Columns []struct{ Name string } }
			check(t, json.Unmarshal(text, &described))
			if !slices.EqualFunc(described.Columns, got.names, func(c struct{ Name string },
				name string) bool {
				return c.Name == name
			}) {
				t.Fatalf("described %v, want %v", described, got.names)
			}
		}
		if len(schemas) != 1 {
			t.Errorf("several schemas: %v", schemas)
		}
	})
}

// The rows of a day that is asked for in pieces say when the first piece was; and the stamps are
// the ledger's to the microsecond, which only a clock that goes on by itself shows.
func TestStampsOfPieces(t *testing.T) {
	for _, most := range []int{0, 2} { // whole days, and days in pieces
		r := newRig(t, emulator.Options{Seed: 7, Apps: 5, Rate: -1, MaxPairs: most})
		r.options.Query.Filters = map[string][]string{"app_token__in": nil}
		for _, app := range r.server.Apps() {
			r.options.Query.Filters["app_token__in"] = append(r.options.Query.Filters["app_token__in"], app.Token)
		}
		r.options.Stamps = []table.Stamp{table.LoadedAt}
		r.start(1)
		r.ok()
		for day, path := range r.files() {
			f, err := file.OpenParquetFile(path, false)
			check(t, err)
			group := f.MetaData().RowGroup(0)
			chunk, err := group.ColumnChunk(group.NumColumns() - 1)
			check(t, err)
			stats, err := chunk.Statistics()
			check(t, err)
			low, high := int64(binary.LittleEndian.Uint64(stats.EncodeMin())),
				int64(binary.LittleEndian.Uint64(stats.EncodeMax()))
			if want := r.recorded(day).Fetched.UnixMicro(); low != want || high != want {
				t.Errorf("%s: loaded at %d to %d, want %d", day, low, high, want)
			}
			check(t, f.Close())
		}
		r.close()
	}
}
