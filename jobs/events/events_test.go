package events_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/events"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A rig is the service, a ledger and a bucket. Each run is what a fresh process would do.
type rig struct {
	t       *testing.T
	server  *emulator.Server
	ledger  *ledger.Ledger
	sink    sinks.Sink
	out     string
	options events.Options
	runs    []ledger.Run // the newest first
}

func newRig(t *testing.T, readings ...string) *rig {
	t.Helper()
	server, err := emulator.New(emutest.With(emulator.Options{Seed: 3, Apps: 4, Rate: -1, Readings: readings}))
	check(t, err)
	out := t.TempDir()
	sink, err := blobsink.Open(t.Context(), "file://"+out)
	check(t, err)
	schedule, err := refresh.ParseSchedule("0 6 * * *", "Europe/Berlin")
	check(t, err)
	location, err := time.LoadLocation("Europe/Berlin")
	check(t, err)
	return &rig{
		t: t, server: server, sink: sink, out: out,
		ledger: ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://ledger"}),
		options: events.Options{
			Job: "account_events", Table: "account_events", Account: "test",
			Rules: refresh.Rules{Location: location, Schedule: schedule},
			// Snappy: the zstd coders keep channels that belong to no bubble.
			Codec: "snappy", SpoolDir: t.TempDir(), Budget: table.NewBudget(table.DefaultBudget),
			Log: slog.New(slog.DiscardHandler),
		},
	}
}

func (r *rig) close() {
	check(r.t, errors.Join(r.server.Close(), r.ledger.Close(), r.sink.Close()))
}

func (r *rig) kind() *events.Kind {
	r.t.Helper()
	token, err := transport.ParseToken("${T}", func(string) string { return "test" })
	check(r.t, err)
	client, err := adjust.New(adjust.Options{
		BaseURL: "http://service", Token: token,
		Options: transport.Options{HTTP: r.server.Client(), Attempts: 2, Logger: slog.New(slog.DiscardHandler)},
	})
	check(r.t, err)
	o := r.options
	o.Client, o.Ledger, o.Run = client, r.ledger, fmt.Sprintf("run-%03d", len(r.runs)+1)
	o.Targets = []ledger.Target{{Name: "out", Sink: r.sink}}
	kind, err := events.New(o)
	check(r.t, err)
	return kind
}

// inspect says how the table is.
func (r *rig) inspect() (refresh.Inspection, error) {
	plan, err := r.kind().Plan(r.t.Context(), time.Now())
	if err != nil {
		return refresh.Inspection{}, err
	}
	return plan.Table.Inspect(r.t.Context(), ledger.Past{Runs: r.runs})
}

func (r *rig) run() ledger.Result {
	r.t.Helper()
	kind, started := r.kind(), time.Now()
	id := fmt.Sprintf("run-%03d", len(r.runs)+1)
	runner := &jobs.Runner{Run: id, Lease: time.Hour, Parallel: 1, Log: slog.New(slog.DiscardHandler)}
	list := []jobs.Job{{Name: r.options.Job, Table: r.options.Table, Kind: kind}}
	res := runner.RunJobs(r.t.Context(), list, jobs.PlanJobs(r.t.Context(), list, time.Now()))[0]
	ended := time.Now()
	r.runs = slices.Insert(r.runs, 0, ledger.Run{ID: id, Started: started, Ended: &ended,
		Results: []ledger.Result{res}})
	return res
}

// snapshot reads the rows of a day as text, with arrow-go.
func (r *rig) snapshot(day string) (rows []string) {
	r.t.Helper()
	f, err := file.OpenParquetFile(filepath.Join(r.out, "account_events", "dt="+day, "part-0.parquet"), false)
	check(r.t, err)
	defer func() { check(r.t, f.Close()) }()
	reader, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	check(r.t, err)
	content, err := reader.ReadTable(context.Background())
	check(r.t, err)
	defer content.Release()
	records := array.NewTableReader(content, -1)
	defer records.Release()
	for records.Next() {
		record := records.RecordBatch()
		for i := range int(record.NumRows()) {
			var cells []string
			for _, c := range record.Columns() {
				cells = append(cells, c.ValueStr(i))
			}
			rows = append(rows, strings.Join(cells, "|"))
		}
	}
	return rows
}

func (r *rig) days() []string {
	r.t.Helper()
	found, err := filepath.Glob(filepath.Join(r.out, "account_events/*/part-0.parquet"))
	check(r.t, err)
	var days []string
	for _, path := range found {
		days = append(days, strings.TrimPrefix(filepath.Base(filepath.Dir(path)), "dt="))
	}
	return days
}

// A snapshot a day, taken once; a night that failed is a gap for ever, and said to be one.
func TestASnapshotADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		time.Sleep(6*time.Hour + 30*time.Minute) // 2000-01-01 07:30 in Berlin
		for day := range 5 {
			if day == 2 {
				r.server.SetFaults([]emulator.Fault{{Every: 1, Kind: emulator.FaultStatus, Status: 503}})
			}
			res := r.run()
			if failed := len(res.Errs) > 0; failed != (day == 2) {
				t.Fatalf("day %d: %v", day, res.Errs)
			}
			r.server.SetFaults(nil)
			time.Sleep(time.Minute)
			if day != 2 {
				if again := r.run(); again.Outcome.Windows != 0 || len(again.Errs) > 0 {
					t.Errorf("day %d: a second run does %+v %v", day, again.Outcome, again.Errs)
				}
			}
			time.Sleep(24*time.Hour - time.Minute)
		}
		want := []string{"2000-01-01", "2000-01-02", "2000-01-04", "2000-01-05"}
		if got := r.days(); !slices.Equal(got, want) {
			t.Errorf("snapshots of %v, want %v", got, want)
		}
		in, err := r.inspect()
		check(t, err)
		if len(in.Gaps) != 2 || in.Gaps[0].Partition.String() != "2000-01-03" ||
			in.Gaps[0].Reason != refresh.RunFailed ||
			in.Gaps[1].Partition.String() != "2000-01-06" {
			t.Errorf("gaps: %+v", in.Gaps)
		}
		if stale := in.Fresh.Stale(time.Now(), 26*time.Hour); stale != "" {
			t.Errorf("snapshots until yesterday, and the table is stale: %s", stale)
		}
		if in.Fresh.Stale(time.Now().Add(72*time.Hour), 26*time.Hour) == "" {
			t.Error("three days without a snapshot, and the table isn't stale")
		}
		if first, last := r.snapshot("2000-01-01"), r.snapshot("2000-01-05"); len(first) < 20 ||
			len(first) != len(last) {
			t.Errorf("%d and %d rows", len(first), len(last))
		}
	})
}

// A snapshot whose put was cut can't be taken again on another day: today's events under
// yesterday's date would be a lie.
func TestACutSnapshotStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.options.Rules.IgnoreSchedule = true
		if res := r.run(); len(res.Errs) > 0 {
			t.Fatal(res.Errs)
		}
		whole := r.sink
		r.sink = full{whole}
		r.options.Rules.IgnoreLedger = true
		if res := r.run(); len(res.Errs) != 1 {
			t.Fatalf("a full disk: %v", res.Errs)
		}
		r.sink, r.options.Rules.IgnoreLedger = whole, false
		time.Sleep(24 * time.Hour)
		if res := r.run(); len(res.Errs) > 0 || res.Outcome.Written != 1 {
			t.Errorf("the next day: %+v %v", res.Outcome, res.Errs)
		}
		in, err := r.inspect()
		check(t, err)
		if len(in.Gaps) != 1 || in.Gaps[0].Partition.String() != "2000-01-01" {
			t.Errorf("gaps: %+v", in.Gaps)
		}
	})
}

// full is a sink without space.
type full struct{ sinks.Sink }

func (full) Put(context.Context, sinks.Part) (sinks.Receipt, error) {
	return sinks.Receipt{}, errors.New("no space left")
}

// The first snapshot of a day doesn't wait for the schedule, which may fire when nobody looks; when
// it has fired, the snapshot is taken again.
func TestTheFirstSnapshotOfADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		for hour, windows := range []int{1, 0, 0, 0, 0, 1, 0} { // from 01:00 in Berlin on; the schedule fires at 06:00
			if res := r.run(); res.Outcome.Windows != windows || len(res.Errs) > 0 {
				t.Errorf("at %d:00: %+v %v", hour+1, res.Outcome, res.Errs)
			}
			time.Sleep(time.Hour)
		}
	})
}

// The rows are the service's own, one for each token in an app.
func TestRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.options.Rules.IgnoreSchedule = true
		if res := r.run(); len(res.Errs) > 0 || res.Outcome.Written != 1 {
			t.Fatalf("%+v %v", res.Outcome, res.Errs)
		}
		rows := r.snapshot("2000-01-01")
		for _, app := range r.server.Apps() {
			for _, e := range app.Events {
				if !slices.ContainsFunc(rows, func(row string) bool {
					return strings.HasPrefix(row, "2000-01-01|"+e.Slug+"|"+e.Name+"|") &&
						strings.Contains(row, "|"+app.Token+"|"+e.Token+"|")
				}) {
					t.Errorf("no row of event %s of app %s with token %s", e.Slug, app.Token, e.Token)
				}
			}
		}
		cells := func(a, b string) int { return slices.Compare(strings.Split(a, "|"), strings.Split(b, "|")) }
		if !slices.IsSortedFunc(rows, cells) || len(slices.Compact(slices.Clone(rows))) != len(rows) {
			t.Error("rows are out of order, or doubled")
		}
		if !slices.ContainsFunc(rows, func(row string) bool { return strings.HasSuffix(row, "|true") }) {
			t.Error("no event of SKAdNetwork among the rows")
		}
	})
}

// Other apps or another search are another table, unless a person says that they aren't.
func TestChangedQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.options.Rules.IgnoreSchedule = true
		r.options.Search = "level"
		if res := r.run(); len(res.Errs) > 0 {
			t.Fatal(res.Errs)
		}
		few := len(r.snapshot("2000-01-01"))
		r.options.Search = ""
		if res := r.run(); len(res.Errs) != 1 || !errors.Is(res.Errs[0], ledger.ErrRefused) {
			t.Errorf("another search: %v", res.Errs)
		}
		r.options.Rebaseline = true
		if res := r.run(); len(res.Errs) > 0 {
			t.Fatal(res.Errs)
		}
		if all := len(r.snapshot("2000-01-01")); all <= few || few == 0 {
			t.Errorf("%d rows of all events, %d with level in their names", all, few)
		}
	})
}

// An account whose events are all gone at noon is no account: the morning's snapshot stays.
func TestNoEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		r.options.Rules.IgnoreSchedule = true
		if res := r.run(); len(res.Errs) > 0 {
			t.Fatal(res.Errs)
		}
		before := r.snapshot("2000-01-01")
		r.options.Rebaseline, r.options.Search = true, "no event has this name"
		res := r.run()
		if len(res.Errs) != 1 || !strings.Contains(res.Errs[0].Error(), "the old rows stay") {
			t.Errorf("%v", res.Errs)
		}
		if !slices.Equal(r.snapshot("2000-01-01"), before) {
			t.Error("the snapshot has changed")
		}
		time.Sleep(24 * time.Hour)
		if res := r.run(); len(res.Errs) > 0 || res.Outcome.Empty != 1 {
			t.Errorf("a day that never had any: %+v %v", res.Outcome, res.Errs)
		}
		if left, err := os.ReadDir(r.options.SpoolDir); err != nil || len(left) > 0 {
			t.Errorf("left in the spool: %v %v", left, err)
		}
	})
}
