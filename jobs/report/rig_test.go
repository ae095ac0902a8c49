package report_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/report"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A rig is a whole world in one process: the service, a ledger, a bucket. Each run is what a fresh
// process would do.
type rig struct {
	t      testing.TB
	server *emulator.Server
	ledger *ledger.Ledger
	sink   sinks.Sink
	out    string // folder that the sink writes to
	spool  string

	options  report.Options
	client   adjust.Options
	parallel int
	nth      int // runs so far
	last     *adjust.Meter
}

func newRig(t testing.TB, o emulator.Options) *rig {
	t.Helper()
	server, err := emulator.New(emutest.With(o))
	check(t, err)
	out := t.TempDir()
	sink, err := blobsink.Open(t.Context(), "file://"+out)
	check(t, err)
	r := &rig{
		t: t, server: server, out: out, spool: t.TempDir(), parallel: 1,
		ledger: ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://ledger"}), sink: sink,
	}
	token, err := transport.ParseToken("${T}", func(string) string { return "test" })
	check(t, err)
	r.client = adjust.Options{
		BaseURL: "http://service", Token: token,
		Options: transport.Options{
			HTTP: server.Client(), Rate: 40, InFlight: 1, Attempts: 30,
			Patience: 24 * time.Hour, Rand: rand.New(rand.NewPCG(1, 2)), Logger: slog.New(slog.DiscardHandler),
		},
	}
	r.options = report.Options{
		Job: "installs", Table: "installs", Account: "test",
		Rules: refresh.Rules{Page: 7, Location: time.UTC, Lookback: 3},
		Query: adjust.ReportQuery{
			Dimensions: []string{"day", "app", "app_token", "os_name", "country_code", "network", "campaign"},
			Metrics: []string{"installs", "clicks", "cost", "network_cost", "all_revenue", "ecpi_all",
				"retention_rate_d1", "roas_d7"},
			UTCOffset: "+00:00", Currency: "USD", Parameters: map[string][]string{
				"cohort_maturity": {"immature"}, "attribution_types": {"click", "impression", "engaged_ad"},
				"attribution_source": {"dynamic"}, "reattributed": {"all"}, "iap_revenue_mode": {"GROSS_100"},
				"ad_spend_mode": {"adjust"}, "sandbox": {"false"},
			},
		},
		Events:  []report.Selector{{Name: "Purchase", Metrics: []string{"events", "revenue"}, As: "purchase"}},
		OnEmpty: partition.GuardEmpty,
		Budget:  table.NewBudget(64 << 10), // so small that files are begun before an answer is whole
		Codec:   "snappy",
		// zstd keeps channels in a pool, which synctest forbids to share between bubbles
		Log: slog.New(slog.DiscardHandler),
	}
	return r
}

// close ends the rig's goroutines: inside a synctest bubble before the test function returns.
func (r *rig) close() {
	check(r.t, r.server.Close())
	check(r.t, r.ledger.Close())
	check(r.t, r.sink.Close())
}

// start makes the first day wanted so many days before today.
func (r *rig) start(days int) {
	r.options.Start = func(today civil.Date) civil.Date { return today.AddDays(-days) }
}

// from fixes the first day wanted.
func (r *rig) from(day civil.Date) { r.options.Start = func(civil.Date) civil.Date { return day } }

func (r *rig) run(ctx context.Context) ledger.Result { return r.runAs(ctx, r.options) }

func (r *rig) runAs(ctx context.Context, o report.Options) ledger.Result {
	r.t.Helper()
	r.nth++
	r.client.Reports = cmp.Or(r.client.Reports,
		r.client.InFlight) // as many as a test says are under way from the start
	client, err := adjust.New(r.client)
	check(r.t, err)
	r.last = &adjust.Meter{}
	o.Client, o.Ledger, o.SpoolDir, o.Run = client, r.ledger, r.spool, fmt.Sprintf("run-%d", r.nth)
	if o.Targets == nil {
		o.Targets = []ledger.Target{{Name: "out", Sink: r.sink}}
	}
	kind, err := report.New(o)
	check(r.t, err)
	runner := &jobs.Runner{
		Run: o.Run, Lease: time.Hour, Parallel: r.parallel, Log: o.Log,
	}
	list := []jobs.Job{{Name: o.Job, Table: o.Table, Kind: kind}}
	return runner.RunJobs(ctx, list, jobs.PlanJobs(ctx, list, time.Now()))[0]
}

// ok runs and wants no errors.
func (r *rig) ok() ledger.Result {
	r.t.Helper()
	res := r.run(r.t.Context())
	if len(res.Errs) > 0 {
		r.t.Fatal(errors.Join(res.Errs...))
	}
	return res
}

// truth asks the service itself for one day.
func (r *rig) truth(day civil.Date) (header []string, rows [][]string) {
	r.t.Helper()
	return r.truthOf(day, day)
}

// truthOf asks the service itself for some days, both ends included, by another way than the
// client's: net/http and encoding/csv.
func (r *rig) truthOf(first, last civil.Date) (header []string, rows [][]string) {
	r.t.Helper()
	q := r.options.Query
	metrics := slices.Clone(q.Metrics)
	if len(r.options.Events) > 0 {
		metrics = append(metrics, "purchase_events", "purchase_revenue")
	}
	v := url.Values{
		"dimensions": {strings.Join(q.Dimensions, ",")}, "metrics": {strings.Join(metrics, ",")},
		"date_period": {first.String() + ":" + last.String()}, "format_dates": {"false"},
		"attribution_types": {"click,impression,engaged_ad"}, "ad_spend_mode": q.Parameters["ad_spend_mode"],
		"currency": {q.Currency},
	}
	if v.Set("utc_offset", q.UTCOffset); q.Zone != nil {
		v.Del("utc_offset")
		v.Set("timezone_id", q.Zone.String())
	}
	for name, values := range q.Filters {
		v.Set(name, strings.Join(values, ","))
	}
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet,
		"http://service/reports-service/csv_report?"+v.Encode(), nil)
	check(r.t, err)
	req.Header.Set("Authorization", "Bearer truth")
	res, err := r.server.Client().Do(req)
	check(r.t, err)
	defer func() { check(r.t, res.Body.Close()) }()
	if res.StatusCode == http.StatusNoContent {
		return nil, nil
	}
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		r.t.Fatalf("truth of %s to %s: %s %s", first, last, res.Status, body)
	}
	body, err := io.ReadAll(res.Body)
	check(r.t, err)
	body = bytes.ToValidUTF8(bytes.TrimPrefix(body, []byte("\ufeff")), []byte("\ufffd")) // as a table has it
	all, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
	check(r.t, err)
	return asAsked(r.t, slices.Concat(q.Dimensions, metrics), all)
}

// asAsked puts an answer's columns in the order of the request, whatever reading of the service the
// test runs under. No rows are nil.
func asAsked(t testing.TB, asked []string, all [][]string) (header []string, rows [][]string) {
	t.Helper()
	places := make([]int, len(asked))
	for i, name := range asked {
		if places[i] = slices.IndexFunc(all[0], func(head string) bool {
			return strings.EqualFold(head,
				name)
		}); places[i] < 0 {
			t.Fatalf("the truth has no %s: %q", name, all[0])
		}
	}
	for _, row := range all[1:] {
		var cells []string
		for _, at := range places {
			cells = append(cells, row[at])
		}
		rows = append(rows, cells)
	}
	if rows == nil {
		return nil, nil
	}
	return asked, rows
}

// files lists what is visible, partition by partition.
func (r *rig) files() map[civil.Date]string {
	r.t.Helper()
	found := map[civil.Date]string{}
	err := filepath.WalkDir(r.out, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == filepath.Join(r.out, "installs.dataset.json") {
			return err
		}
		rel, err := filepath.Rel(r.out, path)
		if err != nil {
			return err
		}
		date, err := civil.ParseDate(strings.TrimSuffix(strings.TrimPrefix(rel, "installs/dt="), "/part-0.parquet"))
		if err != nil {
			r.t.Errorf("a file that is no part: %s", rel)
		}
		found[date] = path
		return nil
	})
	check(r.t, err)
	return found
}

// equalsTruth compares every visible partition with the service's own answer, cell by cell, and
// wants exactly days of them.
func (r *rig) equalsTruth(first civil.Date, days int) (cells int) {
	r.t.Helper()
	files := r.files()
	for i := range days {
		day := first.AddDays(i)
		path, visible := files[day]
		header, rows := r.truth(day)
		if !visible {
			if rows != nil {
				r.t.Errorf("%s is missing, the service has %d rows", day, len(rows))
			}
			continue
		}
		delete(files, day)
		cells += sameRows(r.t, day, readParquet(r.t, path), header, rows)
	}
	for day := range files {
		r.t.Errorf("%s is there, and nobody asked for it", day)
	}
	return cells
}

// A watchedSink checks each part that reaches the sink, and can fail.
type watchedSink struct {
	sinks.Sink
	mu   sync.Mutex
	puts map[civil.Date][]sinks.Part
	fail func(p sinks.Part) error
}

func watch(s sinks.Sink) *watchedSink {
	return &watchedSink{Sink: s, puts: map[civil.Date][]sinks.Part{}}
}

func (s *watchedSink) Put(ctx context.Context, p sinks.Part) (sinks.Receipt, error) {
	s.mu.Lock()
	s.puts[p.Partition] = append(s.puts[p.Partition], p)
	fail := s.fail
	s.mu.Unlock()
	if fail != nil {
		if err := fail(p); err != nil {
			return sinks.Receipt{}, err
		}
	}
	return s.Sink.Put(ctx, p)
}

// spooled lists what is left in the spool folder.
func spooled(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
