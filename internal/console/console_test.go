package console

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
)

var noon = time.Date(2026, 1, 12, 12, 0, 0, 0, time.UTC)

// sample is a console of some jobs, over an empty ledger.
func sample(t *testing.T, list ...Job) *Console {
	t.Helper()
	l := ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://"})
	t.Cleanup(func() { _ = l.Close() })
	return New(Options{Ledger: l, Jobs: list, Now: func() time.Time { return noon }})
}

// looks is a job whose table is so.
func looks(name string, l TableState, err error) Job {
	l.Problems = status.Of(name, "report", l.Inspection, nil)
	return Job{Name: name, Kind: "report", Table: name, Zone: time.UTC,
		Inspect: func(context.Context, ledger.Past) (TableState, error) { return l, err }}
}

// Every condition has a glyph of its own, and a colour, and is red only where package status says
// that something is wrong.
func TestEveryConditionHasAState(t *testing.T) {
	known := map[string]refresh.Condition{}
	for _, c := range append(slices.Clone(refresh.Conditions), status.Lacking, status.Kept, status.Near) {
		l := TableState{Inspection: refresh.Inspection{Fresh: refresh.Freshness{Success: &noon},
			Calendar: []refresh.Entry{{Partition: at(1).Partition, Condition: c}}}}
		l.Calendar[0].Record.HeldBack = &ledger.HeldBack{}
		if c == status.Lacking || c == status.Kept {
			l.Rest = ledger.Rest{Kept: 1, Lacking: ledger.Lacking{Partitions: 1}}
		}
		l.Problems = status.Of("j", "report", l.Inspection, nil)
		s := l.state(c)
		other, taken := known[s.Glyph]
		if taken || s.Glyph == "?" || s.Text != string(c) || (s.Class == "bad") != (status.Wrong(l.Problems) > 0) ||
			(s.Class == "bad" || s.Class == "warn") != (l.Problems != nil) {
			t.Errorf("%q is shown as %+v, like %q; its problems are %+v", c, s, other, l.Problems)
		}
		if known[s.Glyph] = c; !slices.ContainsFunc(colours,
			func(c struct{ Class, Means string }) bool { return c.Class == s.Class }) {
			t.Errorf("%q has the colour %q, which no legend explains", c, s.Class)
		}
	}
}

func TestOverviewTellsTheWorst(t *testing.T) {
	newest := civil.Date{Year: 2026, Month: 1, Day: 11}
	cut := TableState{Inspection: refresh.Inspection{Calendar: []refresh.Entry{{Partition: newest,
		Condition: refresh.CutOff}}}}
	whole := TableState{Inspection: refresh.Inspection{Fresh: refresh.Freshness{Newest: &newest, Success: &noon}}}
	missing, off, moved, mixed := whole, whole, whole, whole
	missing.Calendar = []refresh.Entry{{Partition: newest, Condition: refresh.Absent}}
	off.Calendar = []refresh.Entry{{Partition: newest, Condition: refresh.Differs,
		Record: ledger.Record{Control: &ledger.Control{State: ledger.Unreconciled}}}}
	mixed.Calendar = []refresh.Entry{{Partition: newest, Condition: refresh.Mixed}}
	moved.Calendar = []refresh.Entry{{Partition: newest, Condition: refresh.ChangedFinal}}
	c := sample(t, looks("whole", whole, nil), looks("gap", missing, nil), looks("off", off, nil),
		looks("moved", moved, nil), looks("fresh_out", TableState{}, nil),
		looks("broken", TableState{}, errors.New("<b>tables/broken/1.json is damaged")), looks("cut", cut, nil),
		looks("mixed", mixed, nil))
	run := ledger.Run{ID: "r", Started: noon, Ended: &noon,
		Results: []ledger.Result{{Job: "mixed", Failures: []ledger.Failure{{Unit: "u", Error: "fetch: 503"}}}}}
	if err := c.o.Ledger.SaveRun(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	page, err := c.render(t.Context(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(string(page), "<tr>")[2:]
	for i := range rows {
		rows[i], _, _ = strings.Cut(rows[i], "</tr>")
	}
	for i, want := range []string{"fresh", "missing", "unreconciled", "fresh", "never run", "unreadable", "interrupted",
		"other meaning"} {
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
		{"index.html", "index.html", "map[]"}, {"jobs/{job}/{day}.html", "jobs/a/2026-01-01.html",
			"map[day:2026-01-01 job:a]"},
		{"jobs/{job}/{day}.html", "jobs/a/.html", ""}, {"jobs/{job}/{day}.html", "jobs/a/b/c.html", ""},
		{"jobs/{job}/index.html", "jobs//index.html", ""},
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
		{"GET", "/", 200}, {"HEAD", "/index.html", 200}, {"GET", "/asset/style.css", 200}, {"GET", "/no.html", 404},
		{"GET", "/jobs/", 404},
		{"POST", "/", 405}, {"GET", "/asset/../console.go", 307}, {"GET", "/asset/%2e%2e/console.go", 404},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, "http://localhost"+c.path, nil))
		if w.Code != c.want {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, w.Code, c.want)
		}
		if got := w.Header().Get("Content-Security-Policy"); got != policy+"; frame-ancestors 'none'" {
			t.Errorf("%s %s: its policy is %q", c.method, c.path, got)
		}
	}
}

// What was read is shown again as long as it is young enough for the reader, unless the job has
// changed.
func TestAJobIsReadAgainWhenItHasChanged(t *testing.T) {
	read, mu := map[string]int{}, sync.Mutex{}
	job := func(name string) Job {
		return Job{Name: name, Inspect: func(context.Context, ledger.Past) (TableState, error) {
			mu.Lock()
			defer mu.Unlock()
			read[name]++
			return TableState{}, nil
		}}
	}
	now := noon
	c := New(Options{Ledger: sample(t).o.Ledger, Jobs: []Job{job("a"), job("b")}, Now: func() time.Time { return now }})
	for i, step := range []struct {
		pass    time.Duration
		changed []string
		age     time.Duration
		a, b    int
	}{
		{0, nil, time.Minute, 1, 1},
		{59 * time.Second, nil, time.Minute, 1, 1},
		{0, []string{"b"}, time.Minute, 1, 2},
		{0, nil, time.Minute, 1, 2},
		{time.Second, nil, time.Minute, 2, 2},
		{0, nil, 0, 3, 3},
	} {
		now = now.Add(step.pass)
		c.Changed(step.changed...)
		if list := c.See(t.Context(), step.age); len(list) != 2 || read["a"] != step.a || read["b"] != step.b {
			t.Errorf("step %d: %d jobs, read %v, want %d and %d", i, len(list), read, step.a, step.b)
		}
	}
}
