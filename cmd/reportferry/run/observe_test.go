package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/console"
	"github.com/reportferry/reportferry/internal/telemetry"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// scrapedMetrics is what is said of three jobs: a table with gaps, one that can't be read, and one
// that fills none.
func scrapedMetrics(t *testing.T) string {
	t.Helper()
	l := ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://"})
	t.Cleanup(func() { _ = l.Close() })
	newest := civil.DateOf(time.Now().UTC()).AddDays(-3)
	success := time.Unix(1767225600, 0)
	late := console.TableState{Due: make([]refresh.Due, 4), Inspection: refresh.Inspection{
		Fresh: refresh.Freshness{Newest: &newest, Success: &success}, Problems: []ledger.Problem{
			{Condition: "unreconciled", Partitions: 1}, {Condition: "differs, standing", Partitions: 1},
			{Condition: "changed after final", Partitions: 1}, {Condition: "moved and left", Partitions: 4},
		},
		Gaps: []refresh.Gap{{Partitions: 2, Closable: true, Reason: refresh.NeverFetched},
			{Partitions: 1, Closable: true, Reason: refresh.NotDueYet}},
	}}
	look := func(l console.TableState, err error) func(context.Context, ledger.Past) (console.TableState, error) {
		return func(context.Context, ledger.Past) (console.TableState, error) { return l, err }
	}
	c := console.New(console.Options{Ledger: l, Jobs: []console.Job{
		{Name: "late", Kind: "report", Zone: time.UTC, Inspect: look(late, nil)},
		{Name: "bro\"ken", Kind: "report", Inspect: look(console.TableState{}, errors.New("secret"))},
		{Name: "apps", Kind: "apps"},
	}})
	return answeredMetrics(t, func(ctx context.Context) []console.JobStatus { return c.See(ctx, 0) })
}

// answeredMetrics is what GET /metrics says of what see finds.
func answeredMetrics(t *testing.T, see func(context.Context) []console.JobStatus) string {
	t.Helper()
	reader, handler, err := metricsHandler()
	if err != nil {
		t.Fatal(err)
	}
	started, err := telemetry.Start(t.Context(), telemetry.Options{Getenv: func(string) string { return "" },
		Version: "1.2.3", Scrape: reader, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { started.Close(t.Context()) })
	started.Watch(see)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestGaugesSayWhatTheLedgerSays(t *testing.T) {
	text := scrapedMetrics(t)
	for _, want := range []string{
		`reportferry_table_missing_partitions{job_name="late"} 2`,
		`reportferry_table_due_partitions{job_name="late"} 4`,
		`reportferry_table_unreconciled_partitions{job_name="late"} 2`,
		`reportferry_table_changed_after_final_partitions{job_name="late"} 5`,
		`reportferry_table_readable{job_name="late"} 1`, `reportferry_table_readable{job_name="bro\"ken"} 0`,
		`reportferry_job_last_success_timestamp_seconds{job_name="late"} 1.7672256e+09`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	age := regexp.MustCompile(`reportferry_table_freshness_seconds\{job_name="late"\} (\S+)`).FindStringSubmatch(text)
	if age == nil || !strings.HasPrefix(age[1], "1") && !strings.HasPrefix(age[1], "2") ||
		strings.Contains(text, "secret") {
		t.Errorf("freshness is %v in\n%s", age, text)
	}
	for _, never := range []string{`missing_partitions{job_name="bro`, `freshness_seconds{job_name="apps`,
		`freshness_seconds{job_name="bro`, `missing_partitions{job_name="apps`} {
		if strings.Contains(text, never) {
			t.Errorf("%s is told of, though nothing is known", never)
		}
	}
}

// The dashboard in deploy asks for numbers that there are, and has what Grafana wants of one.
func TestTheDashboardsMetricsExist(t *testing.T) {
	content, err := os.ReadFile("../../../deploy/bi/grafana/reportferry.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		UID, Title    string
		SchemaVersion int
		Panels        []struct {
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(content, &d); err != nil {
		t.Fatal(err)
	}
	if d.UID == "" || d.Title == "" || d.SchemaVersion == 0 || len(d.Panels) < 6 {
		t.Errorf("the dashboard is %+v", d)
	}
	text, used := scrapedMetrics(t), map[string]bool{}
	for _, p := range d.Panels {
		if len(p.Targets) == 0 || p.GridPos.W == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %s has no place or asks for nothing", p.Title)
		}
		for _, target := range p.Targets {
			for _, name := range regexp.MustCompile(`reportferry_\w+`).FindAllString(target.Expr, -1) {
				used[name] = true
				if !strings.Contains(text, "# TYPE "+name+" gauge\n") {
					t.Errorf("panel %s asks for %s, which isn't there", p.Title, name)
				}
			}
		}
	}
	if len(used) < 7 {
		t.Errorf("the dashboard uses %d numbers", len(used))
	}
}

// However many tables a config has, those who collect its numbers get a bounded count of series:
// those that want to be looked at first, and how many were left out.
func TestTenThousandTablesHaveBoundedSeries(t *testing.T) {
	list := make([]console.JobStatus, 10_000)
	for i := range list {
		list[i] = console.JobStatus{Job: console.Job{
			Name: fmt.Sprintf("table%05d", i), Inspect: func(context.Context, ledger.Past) (console.TableState,
				error) {
				return console.TableState{}, nil
			},
			Files: func(context.Context) ([]outbox.File, error) { return nil, nil },
		}, Newest: time.Now()}
	}
	list[9_876].State.Problems = []ledger.Problem{{Condition: "unreconciled", Partitions: 3, Wrong: true}}
	list[9_877].Err = errors.New("can't be read")
	text := answeredMetrics(t, func(context.Context) []console.JobStatus { return list })
	perName := map[string]int{}
	for name, family := range parsedMetrics(t, text) {
		perName[name] = len(family)
	}
	if perName["reportferry_table_readable"] != 1000 || perName["reportferry_outbox_records"] != 999*7 ||
		strings.Count(text, "\n") > 20_000 {
		t.Errorf("series by name: %v", perName)
	}
	for _, want := range []string{`reportferry_jobs_unlisted 9000`,
		`reportferry_table_unreconciled_partitions{job_name="table09876"} 3`,
		`reportferry_table_readable{job_name="table09877"} 0`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(text, "overflow") {
		t.Error("series have overflown")
	}
}

// parsedMetrics is what Prometheus' own parser reads: the series of each name, as text.
func parsedMetrics(t *testing.T, text string) map[string][]string {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	series := map[string][]string{}
	for name, f := range families {
		for _, m := range f.Metric {
			series[name] = append(series[name], m.String())
		}
	}
	return series
}

// Prometheus' tool finds nothing to say against names, units and help texts.
func TestPromtoolChecksTheMetrics(t *testing.T) {
	text := scrapedMetrics(t)
	if n := len(parsedMetrics(t, text)); n < 9 {
		t.Errorf("%d numbers", n)
	}
	path, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("promtool isn't there; the Debian package prometheus has it")
		}
		t.Skip("promtool isn't there; the Debian package prometheus has it")
	}
	cmd := exec.Command(path, "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool: %v\n%s\n%s", err, out, text)
	}
}
