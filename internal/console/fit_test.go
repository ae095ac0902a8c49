//go:build browser

package console

import (
	"context"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/robfig/cron/v3"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
)

// crowded is a console of pages that are as wide as they get: a table for each length of periods,
// in which every condition is found, with many metrics, long names, a long last run, and this
// night's moves of each of the newest days.
func crowded(t *testing.T) *Console {
	t.Helper()
	l := ledger.Open(ledger.Options{Store: bucket.NewMemory(), URL: "mem://"})
	t.Cleanup(func() { _ = l.Close() })
	var jobs []Job
	for name, period := range map[string]refresh.Period{
		"day": refresh.Day, "week": refresh.Week, "month": refresh.Month, "quarter": refresh.Quarter,
		"year": refresh.Year, "whole": refresh.Whole,
	} {
		name = "campaigns_of_all_apps_by_" + name
		look := manyPartitions(t, l, name, period)
		look.Due = []refresh.Due{{Partition: at(1).Partition, Reason: refresh.NewColumns}}
		look.Problems = status.Of(name, "report", look.Inspection, nil)
		berlin := time.FixedZone("Europe/Berlin", 3600)
		schedule, err := cron.ParseStandard("0 6 * * *")
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, Job{Name: name, Kind: "report", Table: name, Zone: berlin, Schedule: schedule,
			Sinks: []string{"bigquery://a-long-project-name/dataset?location=EU"},
			Inspect: func(_ context.Context, past ledger.Past) (TableState, error) {
				look := look
				look.Problems = append(slices.Clone(look.Problems), status.LastFailed(name, past, nil)...)
				return look, nil
			}})
	}
	newest := at(11).Partition
	run := ledger.Run{ID: nightRun, Trigger: "schedule", Started: noon.Add(-8 * time.Hour), Ended: &noon, Exit: 3}
	for _, j := range jobs {
		run.Results = append(run.Results, ledger.Result{
			Job: j.Name, Newest: &newest, Failures: []ledger.Failure{{Unit: "2026-01-05..2026-01-11",
				Error: strings.Repeat("csv_report: 503 Service Unavailable ", 5)}},
			Timings: []ledger.Timing{ledger.TimingOf("2026-01-05..2026-01-11", run.Started, time.Hour,
				ledger.Outcome{Limiter: time.Minute, Retries: 7, Requests: 1234})},
		})
	}
	if err := l.SaveRun(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	return New(Options{Ledger: l, Jobs: jobs, Again: " --config /etc/reportferry/config.yml",
		Now: func() time.Time { return noon }})
}

// manyPartitions fills a table with 100 periods. Each number has moved this night, though it had
// been final.
func manyPartitions(t *testing.T, l *ledger.Ledger, name string, period refresh.Period) (look TableState) {
	t.Helper()
	table, err := l.Table(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	index := period.Index(period.Start(at(11).Partition))
	first := max(0, index-99)
	newest := at(11).Partition
	look.Period, look.Fresh = period, refresh.Freshness{Newest: &newest, Success: &noon}
	for i := first; i <= index; i++ {
		e := ledger.Record{Partition: period.At(i), Seq: 1, Run: nightRun, State: ledger.Written,
			Reason: "cohort horizon", Finality: refresh.Final, HeldBack: &ledger.HeldBack{}}
		for n, hours := range []int{40, 8} {
			e.Fetched, e.Rows, e.Hash, e.Sums = noon.Add(-time.Duration(hours)*time.Hour), int64(1000+n), fmt.Sprint(n),
				map[string]string{}
			for m := range 12 {
				e.Sums[fmt.Sprintf("purchase_d%d_revenue_cohort", m)] = fmt.Sprintf("%d.%02d", 1234567*(n+1), m)
			}
			if index-i < 40 {
				if err := table.Commit(t.Context(), e); err != nil {
					t.Fatal(err)
				}
			}
		}
		c := refresh.Conditions[i%len(refresh.Conditions)]
		entry := refresh.Entry{Partition: e.Partition, Condition: c, Record: e,
			Finality: refresh.Finality{State: refresh.Final}}
		if c == refresh.Broken || c == refresh.Absent {
			entry.Gap = &refresh.Gap{Partition: e.Partition, Reason: refresh.RunFailed, Run: nightRun,
				Error: strings.Repeat("csv_report: 503 Service Unavailable ", 5), Closable: true}
		}
		look.Calendar = append(look.Calendar, entry)
	}
	return look
}

// fitting are the pages that must fit: those of the made-up consoles, one of each kind.
func fitting(t *testing.T) map[string]*httptest.Server {
	t.Helper()
	all := map[string]*httptest.Server{}
	for name, c := range map[string]*Console{"made up": madeUp(t), "rebaselined": rebaselined(t, true),
		"crowded": crowded(t)} {
		all[name] = httptest.NewServer(c.Handler())
		t.Cleanup(all[name].Close)
	}
	return all
}

// On a screen of 1280 pixels nothing is scrolled sideways, and on a phone no page is, though wide
// tables on it may be.
func TestNothingIsWiderThanTheScreen(t *testing.T) {
	tb := open(t, browser(t))
	servers := fitting(t)
	paths := map[string][]string{
		"made up": slices.Collect(maps.Values(shown)),
		"rebaselined": {"index.html", "overnight.html", "jobs/rebaselined/index.html",
			"jobs/rebaselined/2026-01-11.html", "jobs/rebaselined/numbers/cost.html"},
		"crowded": {"index.html", "problems.html", "overnight.html", "runs/index.html",
			"runs/" + nightRun + ".html"},
	}
	for _, period := range []string{"day", "week", "month", "quarter", "year", "whole"} {
		name := "jobs/campaigns_of_all_apps_by_" + period
		paths["crowded"] = append(paths["crowded"], name+"/index.html",
			name+"/numbers/purchase_d11_revenue_cohort.html")
	}
	paths["crowded"] = append(paths["crowded"], "jobs/campaigns_of_all_apps_by_day/2026-01-11.html")
	for of, list := range paths {
		for _, path := range list {
			for wide, within := range map[int64]string{1280: "*", 390: "html"} {
				tb.do(t, chromedp.EmulateViewport(wide, 844), chromedp.Navigate(servers[of].URL+"/"+path))
				wider := get(t, tb, chromedp.Evaluate[string](`[...document.querySelectorAll('`+within+`')]
					.filter(e => e.checkVisibility() && e.scrollWidth > (e === document.documentElement ? innerWidth : e.clientWidth) && (e === document.documentElement || /auto|scroll/.test(getComputedStyle(e).overflowX)))
					.map(e => e.tagName + ' ' + (e.getAttribute('aria-label') || '') + ' ' + e.scrollWidth + ' of ' + e.clientWidth).join(', ')`))
				if wider != "" {
					t.Errorf("%s, %s, at %d: scrolled sideways: %s", of, path, wide, wider)
				}
			}
		}
	}
}

// On a phone the newest partition is in view when a table's page is opened, whatever its periods
// are, and has its number beside it.
func TestTheNewestIsInViewOnAPhone(t *testing.T) {
	tb := open(t, browser(t))
	servers := fitting(t)
	for path, newest := range map[string]string{
		"day": "2026-01-11", "week": "2026-01-11", "month": "2026-01-01", "quarter": "2026-01-01", "year": "2026-01-01",
		"whole": "whole",
	} {
		tb.do(t, chromedp.EmulateViewport(390, 844),
			chromedp.Navigate(servers["crowded"].URL+"/jobs/campaigns_of_all_apps_by_"+path+"/index.html"))
		seen := get(t, tb, chromedp.Evaluate[string](`(() => {
			const cell = document.querySelector('.calendar a[href="`+newest+`.html"]');
			const box = cell.getBoundingClientRect();
			const inside = box.left >= 0 && box.right <= innerWidth && box.top >= 0 && box.bottom <= innerHeight && box.width >= 24 && box.height >= 24;
			return inside + ' ' + (document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2) === cell) + ' ' + getComputedStyle(cell, '::before').content;
		})()`))
		if !strings.HasPrefix(seen, "true true counter(column)") {
			t.Errorf("%s: of %s is seen %s", path, newest, seen)
		}
		tb.quiet(t, path)
	}
}

// The browser shows the headline and the counts that package status gives.
func TestHeadlineInABrowser(t *testing.T) {
	c := crowded(t)
	server := httptest.NewServer(c.Handler())
	defer server.Close()
	tb := open(t, browser(t))
	wrong := 0
	for _, s := range c.See(t.Context(), 0) {
		for _, p := range s.State.Problems {
			if p.Wrong {
				wrong++
			}
		}
	}
	for path, want := range map[string]string{
		"index.html":      fmt.Sprintf("0 fresh, %d problems|Problems (%[1]d)", wrong),
		"runs/index.html": fmt.Sprintf("|Problems (%d)", wrong),
	} {
		tb.do(t, chromedp.Navigate(server.URL+"/"+path))
		got := get(t, tb, chromedp.Evaluate[string](
			`[document.querySelector('.headline')?.textContent, document.querySelector('nav a[href$="problems.html"]').textContent].join('|')`))
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
