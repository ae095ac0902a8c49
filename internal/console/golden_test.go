package console

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/store"
	"github.com/reportferry/reportferry/jobs/refresh"
)

var update = flag.Bool("update", false, "write the pages that the tests compare with")

// golden holds a page against the file of a name in testdata.
func golden(t *testing.T, c *Console, path, name string) {
	t.Helper()
	got, err := c.render(t.Context(), path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s isn't as %s has it; go test ./internal/console -update, and read the difference", path, file)
	}
}

// The names of the made-up jobs, and of their runs.
const (
	nightRun = "20260112T043000.000Z-1f2e3d4c"
	oldRun   = "20260111T043000.000Z-00000001"
	openRun  = "20260112T100000.000Z-2a2a2a2a"
)

// madeUp is a console of a made-up ledger in which much is wrong.
func madeUp(t *testing.T) *Console {
	t.Helper()
	l := ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://"})
	t.Cleanup(func() { _ = l.Close() })
	for _, r := range madeUpRuns() {
		if err := l.SaveRun(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	zone := time.FixedZone("Europe/Berlin", 3600)
	look := madeUpTable()
	look.Calendar = append(look.Calendar, stored(t, l, "campaigns")...)
	for _, g := range look.Gaps {
		for p := g.Partition; !p.After(g.Through); p = p.AddDays(1) {
			if !slices.ContainsFunc(look.Calendar, func(e refresh.Entry) bool { return e.Partition == p }) {
				look.Calendar = append(look.Calendar, refresh.Entry{Partition: p, Condition: g.Condition(), Gap: &g})
			}
		}
	}
	slices.SortStableFunc(look.Calendar, func(a, b refresh.Entry) int { return a.Partition.Compare(b.Partition) })
	campaigns := looks("campaigns", look, nil)
	campaigns.Zone = zone
	spend := Job{
		Name: "spend", Kind: "spend", Zone: zone, Source: "gs://in/{date}.csv", Rejects: "gs://rejects",
		Files: given(madeUpFiles()...),
	}
	apps := Job{Name: "apps", Kind: "apps", Zone: zone, Apps: given(madeUpApps()...)}
	untouched := looks("untouched", TableState{}, nil)
	untouched.Zone = zone
	return New(Options{Ledger: l, Jobs: []Job{campaigns, spend, apps, untouched}, Again: " --config x.yml",
		Now: func() time.Time { return noon }})
}

func madeUpRuns() []ledger.Run {
	began := time.Date(2026, 1, 12, 4, 30, 0, 0, time.UTC)
	after := func(d time.Duration) *time.Time { end := began.Add(d); return &end }
	unit := func(name string, at, took time.Duration, o ledger.Outcome) ledger.Timing {
		return ledger.TimingOf(name, began.Add(at), took, o)
	}
	failing := unit("2026-01-05", 12*time.Second, 40*time.Second, ledger.Outcome{Limiter: 2 * time.Second,
		Backoff: 30 * time.Second, Requests: 8, Retries: 7})
	failing.Failed = true
	idle := func(id string, hours time.Duration) ledger.Run {
		return ledger.Run{ID: id, Trigger: "schedule", Started: began.Add(-hours * time.Hour),
			Ended:   after(time.Minute - hours*time.Hour),
			Results: []ledger.Result{{Job: "campaigns", Table: "campaigns"}}}
	}
	return []ledger.Run{
		// Of which nothing is left but their number.
		idle("20260110T023000.000Z-00000000", 50), idle("20260110T043000.000Z-00000000", 48),
		{ID: oldRun, Trigger: "schedule", Started: began.AddDate(0, 0, -1), Ended: after(-24*time.Hour + time.Minute),
			Exit: 0, Results: []ledger.Result{
				{Job: "campaigns", Table: "campaigns", Outcome: ledger.Outcome{Windows: 1, Written: 7, Requests: 2}},
			}},
		{
			ID: nightRun, Trigger: "schedule", Started: began, Ended: after(time.Minute), Exit: 3,
			Errors: []string{"campaigns: fetch: <b>503</b>", "report.html: no space left"},
			Results: []ledger.Result{
				{
					Job: "campaigns", Table: "campaigns", Took: 52 * time.Second,
					Outcome: ledger.Outcome{Windows: 2, Written: 7, Failed: 7, Requests: 10, Retries: 7, Rows: 12345},
					Failures: []ledger.Failure{{Unit: "2026-01-05", Error: "fetch: <b>503</b>"},
						{Unit: "2026-01-06", Error: "fetch: <b>503</b>"}},
					Timings: []ledger.Timing{
						unit("2025-12-29", 0, 10*time.Second, ledger.Outcome{Limiter: time.Second,
							Convert: 2 * time.Second, Put: time.Second, Requests: 2}), failing,
					},
					TimingsLeftOut: 3,
				},
				{
					Job: "spend", Table: "spend", Outcome: ledger.Outcome{Windows: 1, Failed: 1, Requests: 4},
					Failures: []ledger.Failure{{Unit: "bad.csv", Error: "push bad.csv: no header"}},
					Timings: []ledger.Timing{unit("push", 0, time.Second,
						ledger.Outcome{Limiter: 4 * time.Second, Requests: 4})},
				},
				{Job: "apps", Table: "apps", Outcome: ledger.Outcome{Windows: 1, Failed: 1},
					Failures: []ledger.Failure{{Unit: "apps", Error: "apply app ios/2: the migration failed: events"}}},
			},
		},
		{ID: openRun, Trigger: "backfill", Started: time.Date(2026, 1, 12, 10, 0, 0, 0, time.UTC)},
	}
}

// at gives the made-up record of a day of January.
func at(d int) ledger.Record {
	return ledger.Record{Partition: civil.Date{Year: 2026, Month: 1, Day: d}, Seq: 1, Rows: 10, State: ledger.Written}
}

func madeUpTable() TableState {
	date := func(d int) civil.Date { return at(d).Partition }
	differing := at(4)
	differing.Control = &ledger.Control{State: ledger.Unreconciled,
		Differences: []ledger.Difference{{Metric: "cost", Rows: "69.96", Total: "211.12", Where: "network <i>X</i>"}}}
	newest, success := date(8), noon
	return TableState{Inspection: refresh.Inspection{
		Fresh: refresh.Freshness{Newest: &newest, Success: &success},
		Rest:  ledger.Rest{Lacking: ledger.Lacking{Partitions: 3, Columns: []string{"roas_d7"}, Later: true}, Kept: 1},
		Gaps: []refresh.Gap{
			{Partition: date(5), Through: date(6), Partitions: 2, Reason: refresh.RunFailed, Closable: true,
				Run: nightRun, Error: "fetch: <b>503</b>"},
			{Partition: date(7), Through: date(7), Partitions: 1, Reason: refresh.PutCut, Closable: true, Run: oldRun},
			{Partition: date(1).AddDays(-3), Through: date(1).AddDays(-2), Partitions: 2, Reason: refresh.NeverFetched,
				Closable: true},
			{Partition: date(1), Through: date(1), Partitions: 1, Reason: refresh.NeverFetched},
			{Partition: date(11), Through: date(11), Partitions: 1, Reason: refresh.NotDueYet, Closable: true},
		},
		Calendar: []refresh.Entry{
			{Partition: date(2), Condition: refresh.ChangedFinal, Record: at(2)},
			{Partition: date(3), Condition: refresh.MovedAndLeft, Record: at(3)},
			{Partition: date(4), Condition: refresh.Differs, Record: differing},
			{Partition: date(8), Condition: refresh.Final, Record: at(8)},
		},
	}}
}

func madeUpFiles() []outbox.File {
	began := time.Date(2026, 1, 12, 1, 0, 0, 0, time.UTC)
	ended := began.Add(time.Minute)
	return []outbox.File{
		{Name: "bad.csv", Run: nightRun, Started: began, Last: began, Error: "no header"},
		{Name: "doubt.csv", Run: nightRun, Started: began, Ended: ended, Last: ended, Rows: 10, Accepted: 7,
			Unknown: 3},
		{
			Name: "some.csv", Run: nightRun, Started: began, Ended: ended, Last: ended, Rows: 1000, Accepted: 700,
			Duplicates: 200, Refused: 60, Rejected: 30, Conflicts: 10,
			Rejects: "some.csv.rejects.csv", Reasons: []store.Reason{{Field: "cost_amount",
				Reason: "isn't a plain decimal number", Rows: 60}, {Reason: "unknown <app>", Rows: 30}},
			Sums: map[string]store.Sum{"2026-01-11 cpi EUR secret-tag": {Records: 700}},
		},
		{Name: "open.csv", Run: "../../x", Started: began, Last: began, Rows: 100, Accepted: 40, Pending: 60},
		{Name: "some.csv", Run: "20250101T043000.000Z-00000009", Started: began.AddDate(0, 0, -1),
			Ended: ended.AddDate(0, 0, -1), Rows: 5, Accepted: 5},
	}
}

func madeUpApps() []App {
	since := time.Date(2026, 1, 10, 4, 0, 0, 0, time.UTC)
	return []App{
		{ID: "android/com.example", Name: "Puzzle", Condition: AppDone, Token: "abc123", Run: oldRun, At: since,
			Fields: []AppField{
				{Path: "name", Declared: `"Puzzle <&>"`}, {Path: "channel_setup.x.password", Declared: `"(not shown)"`,
					Otherwise: true},
			}},
		{ID: "ios/2", Condition: AppFailed, Run: nightRun, At: since,
			Fields: []AppField{{Path: "name", Declared: `"Two"`}}},
		{ID: "ios/3", Condition: AppWaiting, Ticket: "t-3", At: since,
			Fields: []AppField{{Path: "name", Declared: `"Three"`}}},
		{ID: "ios/4", Fields: []AppField{{Path: "name", Declared: `"Four"`}}},
		{ID: "ios/5", Condition: AppDone, At: since},
	}
}
