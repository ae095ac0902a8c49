package report_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/report"
)

// One request for totals covers the windows of a quarter of days, counted from the first.
func TestRequestsOfALoad(t *testing.T) {
	slow.Test(t)
	for name, c := range map[string]struct {
		days, windows int
		most, night   int // requests of the first load, and of the next night
		probe         bool
	}{
		"60 days":         {60, 9, 11, 3, false},
		"365 days":        {365, 53, 59, 3, false},
		"60 days, probed": {60, 9, 11, 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 7, Apps: 1, Rate: -1, Days: c.days + 10})
				defer r.close()
				r.options.Visible = report.Visible
				r.options.Events, r.options.Probe = nil, c.probe
				r.options.Query.Dimensions = []string{"day", "campaign"}
				r.from(civil.DateOf(time.Now()).AddDays(-c.days))
				r.parallel, r.client.InFlight = 4, 4
				res := r.ok()
				first := len(r.server.Requests())
				if res.Outcome.Requests != int64(first) {
					t.Errorf("the first load counts %d requests of %d", res.Outcome.Requests, first)
				}
				if first > c.most || res.Outcome.Windows > c.windows || res.Outcome.Unreconciled > 0 {
					t.Errorf("the first load of %d windows makes %d requests, want at most %d", res.Outcome.Windows,
						first, c.most)
				}
				time.Sleep(24 * time.Hour)
				res2 := r.ok()
				night := len(r.server.Requests()) - first
				if res2.Outcome.Requests != int64(night) {
					t.Errorf("the night counts %d requests of %d", res2.Outcome.Requests, night)
				}
				if night > c.night {
					t.Errorf("a night makes %d requests, want at most %d", night, c.night)
				}
				t.Logf("%d days: %d windows, %d requests; the next night %d", c.days, res.Outcome.Windows, first, night)
			})
		})
	}
}

// A first load takes long enough for the service to restate days of windows whose totals it has
// told already: they are compared with totals of that moment.
func TestTotalsOfAnEarlierMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 2, Rate: -1, Days: 40, Readings: documented()})
		defer r.close()
		l := &liar{RoundTripper: r.client.HTTP.Transport}
		r.client.HTTP = &http.Client{Transport: l}
		r.options.Events = nil
		first := civil.DateOf(time.Now()).AddDays(-30)
		r.from(first)
		restated := false
		l.refuse = func(q url.Values) int { // refuses nothing
			if isRows(q) && !restated {
				restated = true
				check(t, r.server.Restate(context.Background(), emulator.Restatement{Day: first.AddDays(20).String(),
					Metric: "installs", Delta: 7}))
			}
			return 0
		}
		r.ok()
		var rows, totals int
		for _, q := range l.asked {
			if isRows(q) {
				rows++
			} else {
				totals++
			}
		}
		if c := r.record(first.AddDays(20)).Control; c.State != ledger.Reconciled || totals > 3 || rows > 6 {
			t.Errorf("%+v after %d requests for rows and %d for totals", c, rows, totals)
		}
		r.equalsTruth(first, 30)
	})
}

// When the totals of a quarter can't be had, each window asks for its own.
func TestTotalsOfAQuarterFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 2, Rate: -1, Days: 40, Readings: documented()})
		defer r.close()
		l := &liar{RoundTripper: r.client.HTTP.Transport}
		r.client.HTTP, r.client.Attempts = &http.Client{Transport: l}, 2
		r.options.Events = nil
		r.start(28)
		l.refuse = func(q url.Values) int {
			first, last, _ := strings.Cut(q.Get("date_period"), ":")
			a, _ := civil.ParseDate(first)
			b, _ := civil.ParseDate(last)
			return map[bool]int{true: 503}[!isRows(q) && b.DaysSince(a) >= 7]
		}
		r.parallel, r.client.InFlight = 3, 3
		if o := r.ok().Outcome; o.Written != 28 || o.Unreconciled > 0 {
			t.Errorf("%+v", o)
		}
	})
}

// A run is ended while one window waits for the totals of all: the next run has them, and loses
// nothing.
func TestTotalsOfARunThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 2, Rate: -1, Days: 40, Latency: time.Minute})
		defer r.close()
		r.options.Events = nil
		r.start(28)
		r.parallel, r.client.InFlight = 3, 3
		ctx, end := context.WithTimeout(t.Context(), 30*time.Second)
		defer end()
		if res := r.run(ctx); res.Outcome.Written > 0 {
			t.Errorf("%+v", res.Outcome)
		}
		if o := r.ok().Outcome; o.Written != 28 || o.Unreconciled > 0 {
			t.Errorf("%+v", o)
		}
	})
}

// Metrics that don't add up have totals too: a ratio that moves after it was final is found,
// whatever the others say.
func TestARatioMoves(t *testing.T) {
	for name, metrics := range map[string][]string{"beside counts": {"installs", "ecpi_all"}, "alone": {"ecpi_all"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, l := watched(t, 20)
				defer r.close()
				r.options.Reconcile, r.options.Query.Metrics = report.ReconcileWarn, metrics
				r.options.Table = "ratios"
				r.ok()
				day := civil.DateOf(time.Now()).AddDays(-10)
				was := r.record(day)
				time.Sleep(24 * time.Hour)
				if o := r.ok().Outcome; o.Compared == 0 || o.Moved > 0 {
					t.Errorf("an honest night: %+v", o)
				}
				check(t, r.server.Restate(t.Context(), emulator.Restatement{Day: day.String(), Metric: "cost",
					Factor: 3}))
				time.Sleep(24 * time.Hour)
				l.looked()
				if o := r.ok().Outcome; o.Moved != 1 || r.record(day).Hash == was.Hash ||
					r.record(day).Reason != string(refresh.Drifted) {
					t.Errorf("the ratio has moved: %+v, %+v", o, r.record(day))
				}
				time.Sleep(24 * time.Hour)
				if o := r.ok().Outcome; o.Moved > 0 {
					t.Errorf("it is mended, and moves again: %+v", o)
				}
				if slices.Contains(metrics, "installs") && was.Control.State != ledger.Reconciled ||
					was.Control.Totals["ecpi_all"] == "" {
					t.Errorf("on record is %+v", was.Control)
				}
			})
		})
	}
}

// A count that moves by less than money loses to rounding is seen all the same, because the totals
// on record are the service's own.
func TestALittleMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := watched(t, 20)
		defer r.close()
		r.options.Reconcile, r.options.Table = report.ReconcileWarn, "little"
		r.ok()
		day := civil.DateOf(time.Now()).AddDays(-10)
		time.Sleep(24 * time.Hour)
		check(t, r.server.Restate(t.Context(), emulator.Restatement{Day: day.String(), Metric: "cost", Delta: 0.02}))
		if o := r.ok().Outcome; o.Moved != 1 {
			t.Errorf("%+v", o)
		}
	})
}

// The window that asks for the totals of all fails at its rows, and takes its request back: the
// next window asks for all in its place.
func TestTotalsOfAWindowThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 2, Rate: -1, Days: 40, Readings: documented()})
		defer r.close()
		l := &liar{RoundTripper: r.client.HTTP.Transport}
		r.client.HTTP, r.client.InFlight = &http.Client{Transport: l}, 3
		r.options.Events = nil
		r.start(28)
		r.ok() // so that no query is tried alone
		r.options.Rules.IgnoreLedger = true
		rows := 0
		l.refuse = func(q url.Values) int {
			if !isRows(q) {
				time.Sleep(20 * time.Second)
				return 0
			}
			time.Sleep(time.Second) // the request for totals is under way by then
			rows++
			return map[bool]int{true: http.StatusBadRequest}[rows == 1]
		}
		l.looked()
		res := r.run(t.Context())
		if n := l.looked(); n != 2 || len(res.Errs) != 1 || res.Outcome.Unreconciled > 0 || res.Outcome.Written < 20 {
			t.Errorf("%d requests for totals: %+v %v", n, res.Outcome, res.Errs)
		}
	})
}

// Where a day lacks a row of one app and the next day lacks all rows, only the first day's
// difference is said to be in that app.
func TestADifferenceInAllAppsIsNotNarrowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 7, Apps: 4, Days: 30, Rate: -1})
		defer r.close()
		r.options.Events = nil
		r.options.Query.Dimensions, r.options.Query.Metrics = []string{"day", "app_token", "os_name"},
			[]string{"installs"}
		r.options.Rules.Page = 7
		end := civil.DateOf(time.Now()).AddDays(-2)
		r.from(end.AddDays(-1))
		q := url.Values{"dimensions": {"day,app_token,os_name"}, "metrics": {"installs"}, "sort": {"day"},
			"date_period": {end.AddDays(-1).String() + ":" + end.String()}}
		first := 0
		for _, row := range r.answerOf(q) {
			if row["day"] == end.AddDays(-1).String() {
				first++
			}
		}
		r.server.SetFaults([]emulator.Fault{{Kind: emulator.FaultCutRows, Rows: first - 1, Every: 1, Path: "csv_report",
			Query: "dimensions=day,app_token,os_name&"}})
		r.run(t.Context())
		records := r.records()
		for day, want := range map[civil.Date]string{end.AddDays(-1): "app_token ", end: "each app_token of 4"} {
			if c := records[day].Control; c == nil || len(c.Differences) != 1 ||
				!strings.HasPrefix(c.Differences[0].Where, want) {
				t.Errorf("%s: %+v, want a difference in %q", day, c, want)
			}
		}
	})
}
