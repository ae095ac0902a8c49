package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

// A rig has a table daily with a folder as its sink, and writes what tells of it.
type rig struct {
	t      *testing.T
	store  *bucket.Bucket
	ledger *ledger.Ledger
	table  *partition.Table
	out    string
	rules  refresh.Rules
	sink   *failing
}

// failing is a sink that can be made to fail.
type failing struct {
	sinks.Sink
	put atomic.Int64 // so many puts succeed yet
}

func (f *failing) Put(ctx context.Context, p sinks.Part) (sinks.Receipt, error) {
	if f.put.Add(-1) < 0 {
		return sinks.Receipt{}, errors.New("the store is down")
	}
	return f.Sink.Put(ctx, p)
}

func (f *failing) ConditionOf(ctx context.Context, table string, day civil.Date, own bool) (sinks.Condition, error) {
	return f.Sink.(*blobsink.Sink).ConditionOf(ctx, table, day, own)
}

func (f *failing) List(ctx context.Context, table string) ([]sinks.Object, error) {
	return f.Sink.(*blobsink.Sink).List(ctx, table)
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, out: t.TempDir(), store: bucket.NewMemory()}
	r.ledger = ledger.Open(ledger.Options{Store: r.store, URL: "mem://ledger"})
	sink, err := blobsink.Open(t.Context(), "file://"+r.out)
	check(t, err)
	t.Cleanup(func() { check(t, errors.Join(sink.Close(), r.ledger.Close())) })
	r.sink = &failing{Sink: sink}
	r.sink.put.Store(1 << 20)
	targets := []ledger.Target{{Name: "out", Sink: r.sink, Store: sink.Store()}}
	r.rules = refresh.Rules{
		Period: refresh.Day, Location: time.UTC, FinalAfter: map[string]int{"installs": 7, "roas_d30": 30},
		Targets: targets,
	}
	r.table, err = partition.Open(t.Context(), partition.Options{
		Ledger: r.ledger, Name: "daily", Targets: targets, Job: "daily", Run: "run-1", SpoolDir: t.TempDir(),
	})
	check(t, err)
	return r
}

// fetched records a partition as fetched at a time.
func (r *rig) fetched(day, at string, change func(*ledger.Record)) {
	r.t.Helper()
	e := ledger.Record{
		Partition: date(r.t, day), Run: "run-1", Fetched: moment(r.t, at), Since: moment(r.t, at),
		State: ledger.Written, Rows: 3, Hash: day + at,
		Sums: map[string]string{"installs": "7"}, Reason: "missing",
	}
	e.Shape = r.shaped("USD")
	if change != nil {
		change(&e)
	}
	check(r.t, r.table.Commit(r.t.Context(), e))
}

// shaped is the ID of a shape whose numbers are in a currency.
func (r *rig) shaped(currency string) string {
	r.t.Helper()
	s := ledger.Shape{Fingerprint: map[string]string{"currency": currency, "utc_offset": "+02:00"}}
	check(r.t, r.table.SaveShape(r.t.Context(), s))
	return s.ID()
}

func (r *rig) tables() *Tables {
	return &Tables{
		Job: "daily", Of: r.table, Ledger: r.ledger, Now: moment(r.t, "2026-03-20T06:00:00"),
		Rules: func(context.Context) (refresh.Rules, error) { return r.rules, nil },
	}
}

// write does what a run does at its end.
func (r *rig) write() error {
	r.t.Helper()
	return r.tables().Write(r.t.Context())
}

// doubt leaves a partition in doubt, as a put that was cut off does.
func (r *rig) doubt(day string) {
	r.t.Helper()
	p, err := civil.ParseDate(day)
	check(r.t, err)
	l, err := r.table.Table.Begin(r.t.Context(), "cut", []civil.Date{p})
	check(r.t, err)
	l.Putting(p)
	check(r.t, l.End(r.t.Context()))
}

// records are the numbers of the months' newest records.
func (r *rig) records(kind string) string {
	r.t.Helper()
	t, err := r.ledger.Table(r.t.Context(), "daily")
	check(r.t, err)
	var out []string
	for _, e := range t.Derived(kind).Sorted() {
		out = append(out, fmt.Sprintf("%s.%d", e.Partition.String()[:7], e.Seq))
	}
	return strings.Join(out, " ")
}

// read gives the rows of a month as texts, a reader's way: the columns that are asked for.
func (r *rig) read(kind, month string, columns ...string) (rows []string) {
	r.t.Helper()
	f, err := file.OpenParquetFile(filepath.Join(r.out, kind, "table=daily", "dt="+month, "part-0.parquet"), false)
	check(r.t, err)
	defer f.Close() //nolint:errcheck // only read
	reader, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	check(r.t, err)
	tab, err := reader.ReadTable(r.t.Context())
	check(r.t, err)
	defer tab.Release()
	for i := range int(tab.NumRows()) {
		var cells []string
		for _, name := range columns {
			at := tab.Schema().FieldIndices(name)
			if len(at) != 1 {
				r.t.Fatalf("no column %s: %s", name, tab.Schema())
			}
			cells = append(cells, tab.Column(at[0]).Data().Chunk(0).ValueStr(i))
		}
		rows = append(rows, strings.Join(cells, " | "))
	}
	return rows
}

// A ledger that has lost what it knew of the job's table derives fewer rows and lower numbers, and
// they are right: nothing of these tables is held back.
func TestFewerRowsAreRight(t *testing.T) {
	r := newRig(t)
	for range 30 { // whose sequence numbers come to much
		for day := range 28 {
			r.fetched(date(t, "2026-02-01").AddDays(day).String(), "2026-03-10T06:00:00", nil)
		}
	}
	check(t, r.write())
	check(t, r.store.Delete(t.Context(), "tables/daily/months/2026-02.json", "tables/daily/months/index.json"))
	again, err := partition.Open(t.Context(), partition.Options{
		Ledger: r.ledger, Name: "daily", Targets: r.rules.Targets, Job: "daily", Run: "run-2", SpoolDir: t.TempDir(),
		Guard: partition.UsualGuard,
	})
	check(t, err)
	r.table = again
	r.fetched("2026-02-28", "2026-03-11T06:00:00", nil)
	check(t, r.write())
	if got := r.read(Partitions, "2026-02-01", "partition_date"); !slices.Equal(got, []string{"2026-02-28"}) {
		t.Errorf("rows of %v", got)
	}
}

// What the rows of these tables mean stays on record, whatever is recorded of the job's table in
// the same month afterwards.
func TestDerivedRowsKeepTheirMeaning(t *testing.T) {
	r := newRig(t)
	r.fetched("2026-02-27", "2026-03-10T06:00:00", nil)
	check(t, r.write())
	r.fetched("2026-02-28", "2026-03-11T06:00:00", nil)
	of, err := r.ledger.Table(t.Context(), "daily")
	check(t, err)
	states := of.Derived(Partitions)
	if shapes, err := states.Shapes(t.Context()); err != nil || len(shapes) != 1 {
		t.Errorf("%d shapes, %v", len(shapes), err)
	}
}

// One row a partition, which says how far its numbers are.
func TestPartitions(t *testing.T) {
	r := newRig(t)
	r.fetched("2026-01-31", "2026-03-03T06:00:00", func(e *ledger.Record) { e.Moved = true })
	r.fetched("2026-02-27", "2026-03-10T06:00:00", func(e *ledger.Record) {
		e.Control = &ledger.Control{State: ledger.Unreconciled,
			Differences: []ledger.Difference{{Metric: "installs", Rows: "7", Total: "9"}}}
	})
	r.fetched("2026-02-28", "2026-03-01T06:00:00",
		func(e *ledger.Record) { e.Control = &ledger.Control{State: ledger.Reconciled} })
	r.fetched(sinks.Whole.String(), "2026-03-01T06:00:00", nil)
	check(t, r.write())
	columns := []string{"table_name", "partition_date", "state", "final_at", "final_columns", "reconciled",
		"changed_after_final", "row_count", "sums"}
	for month, want := range map[string][]string{
		"2026-01-01": {`daily | 2026-01-31 | final | 2026-03-03T00:00:00 | installs,roas_d30 | unchecked | 1 | 3 | {"installs":"7"}`},
		"2026-02-01": {
			`daily | 2026-02-27 | restating | 2026-03-30T00:00:00 | installs | unreconciled | 0 | 3 | {"installs":"7"}`,
			`daily | 2026-02-28 | restating | 2026-03-31T00:00:00 |  | reconciled | 0 | 3 | {"installs":"7"}`,
		},
	} {
		if got := r.read(Partitions, month, columns...); !slices.Equal(got, want) {
			t.Errorf("%s: %q\nwant %q", month, got, want)
		}
	}
	if got := r.read(Partitions, "1970-01-01", "partition_date"); !slices.Equal(got, []string{"(null)"}) {
		t.Errorf("a table without periods: %q", got)
	}
	if got := r.read(Partitions, "2026-02-01", "differences"); got[0] !=
		`[{"metric":"installs","rows":"7","total":"9"}]` {
		t.Errorf("differences: %q", got)
	}
}

// What a partition means is said of each. While a rebaseline isn't finished, nothing of the old
// meaning is called final, and once it is, months that it has left alone are written again.
func TestPartitionsOfTwoMeanings(t *testing.T) {
	r := newRig(t)
	for _, day := range []string{"2026-01-30", "2026-01-31", "2026-02-01"} {
		r.fetched(day, "2026-03-10T06:00:00", func(e *ledger.Record) { e.Shape = r.shaped("EUR") })
	}
	wants := func(when, month string, want ...string) {
		t.Helper()
		check(t, r.write())
		if got := r.read(Partitions, month, "partition_date", "state", "final_columns", "currency",
			"zone"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	wants("before", "2026-01-01", "2026-01-30 | final | installs,roas_d30 | EUR | +02:00",
		"2026-01-31 | final | installs,roas_d30 | EUR | +02:00")
	stale, err := r.table.Stale(t.Context(), ledger.Shape{Fingerprint: map[string]string{"currency": "USD",
		"utc_offset": "+02:00"}})
	check(t, err)
	r.rules.Stale = stale
	wants("at its beginning", "2026-01-01", "2026-01-30 | other meaning |  | EUR | +02:00",
		"2026-01-31 | other meaning |  | EUR | +02:00")
	r.fetched("2026-01-30", "2026-03-11T06:00:00", nil)
	wants("one of three", "2026-01-01", "2026-01-30 | final | installs,roas_d30 | USD | +02:00",
		"2026-01-31 | other meaning |  | EUR | +02:00")
	r.doubt("2026-01-31")
	wants("a put was interrupted", "2026-01-01", "2026-01-30 | final | installs,roas_d30 | USD | +02:00",
		"2026-01-31 | other meaning |  | EUR | +02:00")
	wants("the month that nobody has touched", "2026-02-01", "2026-02-01 | other meaning |  | EUR | +02:00")
	if marks := r.read(Partitions, "2026-01-01", "fingerprint"); marks[0] == marks[1] || len(marks[0]) < 16 {
		t.Errorf("fingerprints %q", marks)
	}
	r.rules.Stale = nil // under its own config again
	wants("given up", "2026-02-01", "2026-02-01 | final | installs,roas_d30 | EUR | +02:00")
}

// Only months of which a partition has another record are put again; a failed put, a deleted file
// and another config are noticed.
func TestOnlyWhatChangedIsPut(t *testing.T) {
	r := newRig(t)
	r.fetched("2026-01-31", "2026-02-03T06:00:00", nil)
	r.fetched("2026-02-28", "2026-03-03T06:00:00", nil)
	check(t, r.write())
	wants := func(when, want string) {
		t.Helper()
		if got := r.records(Partitions); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	wants("at first", "2026-01.1 2026-02.1")
	check(t, r.write())
	wants("without anything new", "2026-01.1 2026-02.1")
	r.fetched("2026-02-28", "2026-03-04T06:00:00", nil)
	check(t, r.write())
	wants("one partition fetched again", "2026-01.1 2026-02.2")

	r.fetched("2026-02-28", "2026-03-05T06:00:00", nil)
	r.sink.put.Store(0)
	if err := r.write(); err == nil || !strings.Contains(err.Error(), "say how daily is") {
		t.Errorf("the sink fails: %v", err)
	}
	r.sink.put.Store(1 << 20)
	check(t, r.write())
	wants("after a failed put", "2026-01.1 2026-02.3")
	if got := r.read(Partitions, "2026-02-01", "fetched"); got[0] != "2026-03-05T06:00:00" {
		t.Errorf("after a failed put: %q", got)
	}

	check(t, os.RemoveAll(filepath.Join(r.out, Partitions)))
	r.fetched("2026-02-28", "2026-03-06T06:00:00", nil)
	check(t, r.write())
	wants("the files were deleted", "2026-01.2 2026-02.4")
	r.rules.FinalAfter = map[string]int{"installs": 30}
	check(t, r.write())
	wants("another config", "2026-01.3 2026-02.5")
}

// One row a number that changed, with what it was; a fetch of the same content, an interrupted put
// and a first one are none.
func TestRestatements(t *testing.T) {
	r := newRig(t)
	sums := func(installs, cost, state string) func(*ledger.Record) {
		return func(e *ledger.Record) {
			e.Sums, e.Finality, e.Reason = map[string]string{"installs": installs, "cost": cost}, state, "lookback"
			e.Hash = installs + cost
		}
	}
	r.fetched("2026-01-31", "2026-02-01T06:00:00", sums("7", "69.960000", "restating"))
	r.fetched("2026-02-01", "2026-02-02T06:00:00", sums("1", "0.500000", "restating"))
	check(t, r.write())
	if got := r.records(Restatements); got != "" {
		t.Errorf("first fetches: %s", got)
	}
	r.fetched("2026-01-31", "2026-02-03T06:00:00", func(e *ledger.Record) {
		sums("7", "69.960000", "restating")(e)
		e.Since = moment(t, "2026-02-01T06:00:00")
	})
	r.sink.put.Store(1) // the restatement is put, and the partition's state isn't
	r.fetched("2026-01-31", "2026-02-04T06:00:01", func(e *ledger.Record) {
		sums("9", "211.120000", "final")(e)
		e.Run = "run-2"
	})
	if err := r.write(); err == nil {
		t.Error("the sink fails, and nobody says so")
	}
	r.sink.put.Store(1 << 20)
	check(t, r.write())
	check(t, r.write())
	want := []string{
		"daily | 2026-01-31 | cost | 69.96 | 211.12 | 141.16 | 2026-02-03T06:00:00 | 2026-02-04T06:00:01 | " +
			"restating | lookback | run-2 | 3",
		"daily | 2026-01-31 | installs | 7 | 9 | 2 | 2026-02-03T06:00:00 | 2026-02-04T06:00:01 | restating | " +
			"lookback | run-2 | 3",
	}
	columns := []string{"table_name", "partition_date", "metric", "before", "after", "delta", "fetched_before",
		"fetched", "state_before", "reason", "run", "seq"}
	if got := r.read(Restatements, "2026-01-01", columns...); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if got := r.records(Restatements) + ", " + r.records(Partitions); got != "2026-01.1, 2026-01.2 2026-02.1" {
		t.Errorf("records: %s", got)
	}
	r.fetched("2026-01-31", "2026-02-05T06:00:00", sums("9", "211.130000", "final"))
	check(t, r.write())
	if got := r.read(Restatements, "2026-01-01", "metric", "delta", "state_before"); len(got) != 3 ||
		got[2] != "cost | 0.01 | final" {
		t.Errorf("a final one that moved: %q", got)
	}
}

// A run that does nothing asks whether one before it left the tables behind: no success has
// followed the newest fetch.
func TestBehind(t *testing.T) {
	r := newRig(t)
	wants := func(when string, want bool) {
		t.Helper()
		if got := r.tables().behind(); got != want {
			t.Errorf("%s: %v", when, got)
		}
	}
	wants("an empty ledger", false)
	r.fetched("2026-01-31", "2026-02-03T06:00:00", nil)
	wants("a run was killed", true)
	ended := moment(t, "2026-02-03T06:05:00")
	check(t, r.ledger.SaveRun(t.Context(), ledger.Run{
		ID: "20260203T060000.000Z-1", Started: ended.Add(-5 * time.Minute), Ended: &ended,
		Results: []ledger.Result{{Job: "daily", Table: "daily"}},
	}))
	wants("it succeeded", false)
	r.fetched("2026-01-31", "2026-02-04T06:00:00", nil)
	wants("the next one was killed", true)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func date(t *testing.T, text string) civil.Date {
	t.Helper()
	d, err := civil.ParseDate(text)
	check(t, err)
	return d
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05", text)
	check(t, err)
	return at
}
