package report_test

import (
	"errors"
	"fmt"
	"net/http"
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
	"github.com/reportferry/reportferry/sinks"
)

// A cohort metric is final long after the lookback: one fetch after its horizon brings it, and no
// fetch in between.
func TestHorizons(t *testing.T) {
	slow.Test(t)
	t.Run("fixed start", func(t *testing.T) { testHorizons(t, 1000) })
	// Before the lookback ends, and long before a horizon.
	t.Run("start that moves on", func(t *testing.T) { testHorizons(t, 1) })
}

func testHorizons(t *testing.T, daysAgo int) {
	synctest.Test(t, func(t *testing.T) {
		r, schedule := nightly(t, "0 6 * * *", "UTC")
		defer r.close()
		first := civil.DateOf(time.Now()).AddDays(1)
		r.options.Start = func(today civil.Date) civil.Date {
			if start := today.AddDays(-daysAgo); start.After(first) {
				return start
			}
			return first
		}
		r.options.Rules.Lookback, r.options.Rules.Horizons = 2, []int{5, 9}
		r.options.Events = nil
		r.options.Query.Metrics = []string{"installs", "retained_users_d9", "all_revenue_total_d5"}
		asked := map[civil.Date]int{}
		const nights = 22
		for range nights {
			sleepTo(schedule)
			if daysAgo > 1 && slices.Contains([]int{7, 8, 12}, r.nth) { // nights that fail
				r.server.SetFaults([]emulator.Fault{{Nth: 1, Every: 1, Kind: emulator.FaultStatus, Status: 400}})
				r.run(t.Context())
				r.server.SetFaults(nil)
				continue
			}
			sink := watch(r.sink)
			o := r.options
			o.Targets = []ledger.Target{{Name: "out", Sink: sink}}
			kind := r.planned(o)
			for _, due := range kind {
				asked[due.Partition]++
			}
			r.runAs(t.Context(), o)
		}
		settled := nights - 1 - 10 // days whose last horizon has passed
		files := r.files()
		for i := range settled {
			day := first.AddDays(i)
			header, rows := r.truth(day)
			sameRows(t, day, readParquet(t, files[day]), header, rows)
			if n := asked[day]; n < 3 || n > 5 { // two nights of lookback and the first, then one a horizon
				t.Errorf("%s was fetched %d times", day, n)
			}
		}
	})
}

// planned is what a run would do now.
func (r *rig) planned(o report.Options) (due []refresh.Due) {
	r.t.Helper()
	o.Ledger = r.ledger
	kind, err := report.New(o)
	check(r.t, err)
	plan, err := kind.Plan(r.t.Context(), time.Now())
	check(r.t, err)
	for _, u := range plan.Units {
		due = append(due, u.Due...)
	}
	return due
}

// After a change of the currency every partition is replaced, one by one, also those before the
// start; a rebaseline that was cut off goes on without being asked for again.
func TestRebaseline(t *testing.T) {
	slow.Test(t)
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 3, Apps: 2, Rate: -1})
		defer r.close()
		time.Sleep(6 * time.Hour)
		r.options.Rules.Lookback, r.options.Rules.Page = 0, 3
		r.start(20)
		r.ok()
		r.options.Query.Currency = "EUR"
		r.start(5) // fifteen recorded days lie before it
		if res := r.run(t.Context()); len(res.Errs) != 1 || !errors.Is(res.Errs[0], ledger.ErrRefused) {
			t.Fatalf("another currency: %v", res.Errs)
		}
		left := 8
		sink := watch(r.sink)
		sink.fail = func(sinks.Part) error {
			if left--; left < 0 {
				return errors.New("no space left")
			}
			return nil
		}
		o := r.options
		o.Rebaseline, o.Targets = true, []ledger.Target{{Name: "out", Sink: sink}}
		if res := r.runAs(t.Context(), o); res.Outcome.Written != 8 || len(res.Errs) == 0 {
			t.Fatalf("cut off: %+v %v", res.Outcome, res.Errs)
		}
		if res := r.ok(); res.Outcome.Written != 12 {
			t.Errorf("going on: %+v", res.Outcome)
		}
		r.equalsTruth(civil.DateOf(time.Now()).AddDays(-20), 20)
		if res := r.ok(); res.Outcome.Windows != 0 {
			t.Errorf("and again: %+v", res.Outcome)
		}
	})
}

// An added metric, and one of an event, are left for later where the config says so: they are
// fetched for older days when asked for, and only for those that lack them.
func TestMissingColumns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 3, Apps: 2, Rate: -1})
		defer r.close()
		time.Sleep(6 * time.Hour)
		r.options.Rules.Lookback = 0
		first := civil.DateOf(time.Now()).AddDays(-9)
		r.from(first)
		r.options.Events, r.options.Rules.LaterColumns = nil, true
		metrics := r.options.Query.Metrics
		r.options.Query.Metrics = metrics[:3]
		r.ok()
		r.options.Query.Metrics = metrics
		time.Sleep(24 * time.Hour)
		if res := r.ok(); res.Outcome.Written != 1 {
			t.Fatalf("the next night: %+v", res.Outcome)
		}
		r.options.Events = []report.Selector{{Name: "Purchase", Metrics: []string{"events", "revenue"}, As: "purchase"}}
		time.Sleep(24 * time.Hour)
		r.ok()
		o := r.options
		o.NewColumns, o.Rules.Only, o.Rules.LaterColumns = true, []refresh.Reason{refresh.NewColumns}, false
		if res := r.runAs(t.Context(), o); res.Outcome.Written != 10 || len(res.Errs) > 0 {
			t.Errorf("ten days lack columns: %+v %v", res.Outcome, res.Errs)
		}
		r.equalsTruth(first, 11)
		if res := r.runAs(t.Context(), o); res.Outcome.Windows != 0 {
			t.Errorf("and again: %+v", res.Outcome)
		}
	})
}

// Without being asked for, older days get an added column after what the night itself wants, the
// newest first; days without rows lack nothing.
func TestAddedColumnsComeLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 3, Apps: 2, Rate: -1})
		defer r.close()
		time.Sleep(6 * time.Hour)
		r.options.Rules.Lookback, r.options.Rules.Page, r.options.Events = 0, 2, nil
		first := civil.DateOf(time.Now()).AddDays(-8)
		r.from(first)
		r.ok()
		second := &emptySecond{RoundTripper: r.client.HTTP.Transport}
		second.reports.Store(1)
		r.client.HTTP = &http.Client{Transport: second}
		r.options.Reconcile = report.ReconcileOff // which would find the rows all the same
		time.Sleep(24 * time.Hour)
		if res := r.ok(); res.Outcome.Empty != 1 || res.Rest.Lacking.Partitions != 0 {
			t.Fatalf("a day without rows: %+v %+v", res.Outcome, res.Rest)
		}
		time.Sleep(48 * time.Hour)
		r.options.Query.Metrics = append(r.options.Query.Metrics, "sessions")
		var planned []string
		for _, d := range r.planned(r.options) {
			planned = append(planned, fmt.Sprintf("%d %s", d.Partition.DaysSince(first), d.Reason))
		}
		want := "9 missing, 10 missing, 6 missing columns, 7 missing columns, 4 missing columns, 5 missing columns, " +
			"2 missing columns, 3 missing columns, " +
			"0 missing columns, 1 missing columns"
		if got := strings.Join(planned, ", "); got != want {
			t.Errorf("the plan is %s, want %s", got, want)
		}
		if res := r.ok(); res.Outcome.Written != 10 || res.Rest.Lacking.Partitions != 0 {
			t.Errorf("%+v %+v", res.Outcome, res.Rest)
		}
	})
}

// The unfinished period is there too, with until: today, and is replaced until it is over.
func TestUnfinishedPeriods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Seed: 3, Apps: 2, Rate: -1, Readings: []string{"week-start=sunday"}})
		defer r.close()
		time.Sleep(10*24*time.Hour + 6*time.Hour) // 2000-01-11
		r.options.Events = nil
		r.options.Query.Dimensions, r.options.Query.Metrics = []string{"week", "app_token"}, []string{"installs"}
		r.options.Rules.Period, r.options.Rules.Page, r.options.Rules.Lookback, r.options.Rules.Today = refresh.Week, 1,
			0, true
		week := civil.Date{Year: 2000, Month: 1, Day: 9}
		r.from(week)
		for range 7 {
			r.ok()
			header, rows := r.truthOf(week, week.AddDays(6))
			sameRows(t, week, readParquet(t, r.files()[week]), header, rows)
			time.Sleep(24 * time.Hour)
		}
		if due := r.planned(r.options); len(due) != 1 || due[0].Partition != week.AddDays(7) {
			t.Errorf("a week that is over is due still: %v", due)
		}
	})
}
