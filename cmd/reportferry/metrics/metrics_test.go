package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/internal/console"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// scraped is what is said of three jobs: a table with gaps, one that can't be read, and one that fills none.
func scraped(t *testing.T) string {
	t.Helper()
	l := ledger.Open(ledger.Options{Bucket: memblob.OpenBucket(nil), URL: "mem://"})
	t.Cleanup(func() { _ = l.Close() })
	newest := civil.DateOf(time.Now().UTC()).AddDays(-3)
	success := time.Unix(1767225600, 0)
	late := console.Look{Due: make([]refresh.Due, 4), Inspection: refresh.Inspection{
		Fresh: refresh.Freshness{Newest: &newest, Success: &success}, Standing: refresh.Standing{Unreconciled: 2, Moved: 1, Left: 4},
		Gaps: []refresh.Gap{{Partitions: 2, Closable: true, Reason: refresh.NeverFetched}, {Partitions: 1, Closable: true, Reason: refresh.NotDueYet}},
	}}
	look := func(l console.Look, err error) func(context.Context, ledger.Past) (console.Look, error) {
		return func(context.Context, ledger.Past) (console.Look, error) { return l, err }
	}
	c := console.New(console.Options{Ledger: l, Jobs: []console.Job{
		{Name: "late", Kind: "report", Zone: time.UTC, Look: look(late, nil)}, {Name: "bro\"ken", Kind: "report", Look: look(console.Look{}, errors.New("secret"))}, {Name: "apps", Kind: "apps"},
	}})
	w := httptest.NewRecorder()
	Handler(c).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestGaugesSayWhatTheLedgerSays(t *testing.T) {
	text := scraped(t)
	for _, want := range []string{
		`reportferry_table_missing_partitions{job_name="late"} 2`, `reportferry_table_due_partitions{job_name="late"} 4`,
		`reportferry_table_unreconciled_partitions{job_name="late"} 2`, `reportferry_table_changed_after_final_partitions{job_name="late"} 5`,
		`reportferry_table_readable{job_name="late"} 1`, `reportferry_table_readable{job_name="bro\"ken"} 0`, `reportferry_job_last_success_timestamp_seconds{job_name="late"} 1.7672256e+09`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	age := regexp.MustCompile(`reportferry_table_freshness_seconds\{job_name="late"\} (\S+)`).FindStringSubmatch(text)
	if age == nil || !strings.HasPrefix(age[1], "1") && !strings.HasPrefix(age[1], "2") || strings.Contains(text, "secret") {
		t.Errorf("freshness is %v in\n%s", age, text)
	}
	for _, never := range []string{`missing_partitions{job_name="bro`, `freshness_seconds{job_name="apps`, `freshness_seconds{job_name="bro`, `missing_partitions{job_name="apps`} {
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
	text, used := scraped(t), map[string]bool{}
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
	if len(used) < len(gauges) {
		t.Errorf("the dashboard uses %d of %d numbers", len(used), len(gauges))
	}
}
