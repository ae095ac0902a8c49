package console

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	pathpkg "path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
)

// given is what a job has, whenever it is asked.
func given[T any](all ...T) func(context.Context) ([]T, error) {
	return func(context.Context) ([]T, error) { return all, nil }
}

func TestPages(t *testing.T) {
	c := madeUp(t)
	for path, name := range map[string]string{
		"problems.html": "problems.html", "runs/index.html": "runs.html", "runs/" + nightRun + ".html": "run.html",
		"runs/" + oldRun + ".html":  "run-untimed.html",
		"runs/" + openRun + ".html": "run-open.html", "jobs/spend/index.html": "spend.html",
		"jobs/apps/index.html": "apps.html",
		"index.html":           "overview.html", "overnight.html": "overnight.html",
		"jobs/campaigns/index.html":      "table.html",
		"jobs/campaigns/2026-01-10.html": "partition.html",
		"jobs/campaigns/2026-01-04.html": "partition-differs.html", "jobs/campaigns/numbers/cost.html": "series.html",
	} {
		golden(t, c, path, name)
	}
}

// everyPage renders all pages, by their paths.
func everyPage(t *testing.T, c *Console) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, p := range pages {
		list := []vars{nil}
		if p.each != nil {
			list = p.each(c, t.Context())
		}
		for _, names := range list {
			page, err := c.render(t.Context(), p.path(names))
			if err != nil {
				t.Fatalf("%s: %v", p.path(names), err)
			}
			all[p.path(names)] = string(page)
		}
	}
	return all
}

// What the ledger, a file or the service says is text on every page, and what may identify a person
// is on none.
func TestNothingOfTheLedgerIsMarkup(t *testing.T) {
	all := everyPage(t, madeUp(t))
	if len(all) < 8 {
		t.Errorf("there are %d pages", len(all))
	}
	for path, page := range all {
		for _, bad := range []string{"<b>503", "<i>X", "<app>", "secret-tag", "../../x", " style="} {
			if strings.Contains(page, bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
	}
}

// Every link leads to a page or an asset, also to a run that the ledger has forgotten: it isn't
// linked.
func TestLinksLeadSomewhere(t *testing.T) {
	c := madeUp(t)
	if err := c.o.Ledger.ForgetRun(t.Context(), madeUpRuns()[2]); err != nil { // which a problem has
		t.Fatal(err)
	}
	all := everyPage(t, c)
	links := regexp.MustCompile(`(?:href|src)="?([^"#> ]+)"?`)
	for path, page := range all {
		for _, link := range links.FindAllStringSubmatch(page, -1) {
			to := pathpkg.Join(pathpkg.Dir(path), link[1])
			name, asset := strings.CutPrefix(to, "asset/")
			if _, err := fs.Stat(assets, name); asset && err != nil || !asset && all[to] == "" {
				t.Errorf("%s leads to %s, which isn't there", path, to)
			}
		}
	}
}

func TestNothingNeedsYou(t *testing.T) {
	c := sample(t)
	page, err := c.render(t.Context(), "problems.html")
	if err != nil || !strings.Contains(string(page), "Nothing needs you") {
		t.Errorf("%v\n%s", err, page)
	}
	if page, err = c.render(t.Context(), "runs/index.html"); err != nil ||
		!strings.Contains(string(page), "reportferry run<") {
		t.Errorf("%v\n%s", err, page)
	}
}

// A run by any other name than those of the ledger has no page, and one whose name would lead
// elsewhere isn't linked or exported.
func TestRunsByName(t *testing.T) {
	l := ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://"})
	t.Cleanup(func() { _ = l.Close() })
	for _, id := range []string{"20260112T043000.000Z-1f2e3d4c", "..", ".hidden", "a b", `"><script>`} {
		if err := l.SaveRun(t.Context(), ledger.Run{ID: id, Started: noon}); err != nil {
			t.Fatal(err)
		}
	}
	c := New(Options{Ledger: l, Now: func() time.Time { return noon }})
	if all := c.eachRun(t.Context()); len(all) != 1 || all[0]["run"] != "20260112T043000.000Z-1f2e3d4c" {
		t.Errorf("runs with pages: %v", all)
	}
	page, err := c.render(t.Context(), "runs/index.html")
	if err != nil || strings.Count(string(page), `.html"><time`) != 1 || strings.Contains(string(page), "<script>") {
		t.Errorf("%v: %s", err, page)
	}
	if _, err = c.render(t.Context(), "runs/other.html"); !errors.Is(err, errNoPage) {
		t.Errorf("an unknown run: %v", err)
	}
}

func TestRunState(t *testing.T) {
	for code, want := range map[int]string{0: "done", 1: "failed", 2: "failed", 3: "incomplete", 4: "held by others",
		5: "refused", 130: "stopped", 99: "failed"} {
		if got := runState(ledger.Run{Ended: &noon, Exit: code}).Text; got != want {
			t.Errorf("exit code %d: %s, want %s", code, got, want)
		}
	}
	if got := runState(ledger.Run{}).Text; got != "no end" {
		t.Errorf("without an end: %s", got)
	}
}

func TestFileState(t *testing.T) {
	for want, f := range map[string]outbox.File{
		"refused": {Error: "x"}, "stopped": {Error: "x", Accepted: 1}, "not finished": {Pending: 1},
		"in doubt":       {Ended: noon, Unknown: 1},
		"some not taken": {Ended: noon, Rejected: 1}, "done": {Ended: noon, Accepted: 1},
	} {
		if got := fileState(f).Text; got != want {
			t.Errorf("%+v: %s, want %s", f, got, want)
		}
	}
}

// A page of the longest run that is recorded is no larger than others, and is made as quickly.
func TestALongRun(t *testing.T) {
	slow.Test(t)
	run := ledger.Run{ID: "long", Started: noon.Add(-time.Hour), Ended: &noon, Exit: 1}
	for j := range 50 {
		res := ledger.Result{Job: fmt.Sprint("job", j), Outcome: ledger.Outcome{Windows: 500}}
		for i := range 500 {
			unit := fmt.Sprint("2026-01-", i)
			res.Timings = append(res.Timings, ledger.TimingOf(unit, noon.Add(time.Duration(i-3600)*time.Second),
				time.Minute, ledger.Outcome{Limiter: 1e9, Backoff: 1e9, Convert: 1e9, Put: 1e9}))
			res.Failures = append(res.Failures, ledger.Failure{Unit: unit, Error: unit + strings.Repeat("x", 450)})
			run.Errors = append(run.Errors, res.Job+": "+unit+strings.Repeat("x", 900))
		}
		run.Results = append(run.Results, res)
	}
	ledger.TrimTimings(run.Results)
	l := ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://"})
	t.Cleanup(func() { _ = l.Close() })
	if err := l.SaveRun(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	c := New(Options{Ledger: l, Now: func() time.Time { return noon }})
	_, _ = c.render(t.Context(), "runs/index.html") // reads the ledger
	began := time.Now()
	page, err := c.render(t.Context(), "runs/long.html")
	if took := time.Since(began); err != nil || took > time.Second/2 {
		t.Errorf("%v; it took %v", err, took)
	}
	if len(page) > 400_000 || !strings.Contains(string(page), "and 498 more") {
		t.Errorf("a page of %d bytes", len(page))
	}
}
