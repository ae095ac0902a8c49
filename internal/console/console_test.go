package console

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
)

var noon = time.Date(2026, 1, 12, 12, 0, 0, 0, time.UTC)

// sample is a console of some jobs, over an empty ledger.
func sample(t *testing.T, list ...Job) *Console {
	t.Helper()
	l := ledger.Open(ledger.Options{Bucket: memblob.OpenBucket(nil), URL: "mem://"})
	t.Cleanup(func() { _ = l.Close() })
	return New(Options{Ledger: l, Jobs: list, Now: func() time.Time { return noon }})
}

// looks is a job whose table is so.
func looks(name string, l Look, err error) Job {
	l.Problems = status.Of(name, "report", l.Inspection)
	return Job{Name: name, Kind: "report", Table: name, Zone: time.UTC, Look: func(context.Context, ledger.Past) (Look, error) { return l, err }}
}

func TestEveryConditionHasAState(t *testing.T) {
	for _, c := range refresh.Conditions {
		if s := stateOf(c); s.Glyph == "?" || s.Text != string(c) {
			t.Errorf("%q is shown as %+v", c, s)
		}
	}
}

func TestOverviewTellsTheWorst(t *testing.T) {
	newest := civil.Date{Year: 2026, Month: 1, Day: 11}
	whole := Look{Inspection: refresh.Inspection{Fresh: refresh.Freshness{Newest: &newest}}}
	missing, off, moved := whole, whole, whole
	missing.Gaps = []refresh.Gap{{Partition: newest, Through: newest, Partitions: 1, Reason: refresh.NeverFetched, Closable: true}}
	off.Calendar = []refresh.Entry{{Partition: newest, Condition: refresh.Differs, Record: ledger.Record{Control: &ledger.Control{State: ledger.Unreconciled}}}}
	moved.Standing.Moved = 1
	c := sample(t, looks("whole", whole, nil), looks("gap", missing, nil), looks("off", off, nil), looks("moved", moved, nil), looks("fresh_out", Look{}, nil),
		looks("broken", Look{}, errors.New("<b>tables/broken/1.json is damaged")))
	page, err := c.render(t.Context(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(string(page), "<tr>")[2:]
	for i, want := range []string{"fresh", "late", "unreconciled", "changed after final", "never run", "unreadable"} {
		if !strings.Contains(rows[i], "</span> "+want+"</span>") {
			t.Errorf("line %d doesn't say %s:\n%s", i, want, rows[i])
		}
	}
	if strings.Contains(string(page), "<b>tables") {
		t.Error("markup of an error reached the page")
	}
}

func TestPaths(t *testing.T) {
	for _, c := range []struct{ pattern, path, want string }{
		{"index.html", "index.html", "map[]"}, {"jobs/{job}/{day}.html", "jobs/a/2026-01-01.html", "map[day:2026-01-01 job:a]"},
		{"jobs/{job}/{day}.html", "jobs/a/.html", ""}, {"jobs/{job}/{day}.html", "jobs/a/b/c.html", ""}, {"jobs/{job}/index.html", "jobs//index.html", ""},
	} {
		names, fits := match(c.pattern, c.path)
		if fits != (c.want != "") || fits && fmt.Sprint(names) != c.want {
			t.Errorf("%s of %s: %v %v", c.path, c.pattern, names, fits)
		}
	}
}

func TestHandlerAnswersPagesOnly(t *testing.T) {
	h := sample(t).Handler()
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/", 200}, {"HEAD", "/index.html", 200}, {"GET", "/asset/style.css", 200}, {"GET", "/no.html", 404}, {"GET", "/jobs/", 404},
		{"POST", "/", 405}, {"GET", "/asset/../console.go", 307}, {"GET", "/asset/%2e%2e/console.go", 404},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, "http://localhost"+c.path, nil))
		if w.Code != c.want {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, w.Code, c.want)
		}
		if got := w.Header().Get("Content-Security-Policy"); got != policy {
			t.Errorf("%s %s: its policy is %q", c.method, c.path, got)
		}
	}
}
