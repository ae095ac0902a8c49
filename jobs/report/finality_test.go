package report_test

import (
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/report"
)

// A fetch is as final as the slowest column that the table has, those of events included, or as the
// config says.
func TestFinalityOfColumns(t *testing.T) {
	for _, c := range []struct {
		name       string
		change     func(*report.Options)
		final      int // days after a period's end
		finalAfter int
	}{
		{"network cost", nil, 14, 0},
		{"a week", func(o *report.Options) { o.Query.Metrics = []string{"installs"} }, 7, 0},
		{"an event's cohort", func(o *report.Options) {
			o.Query.Metrics = []string{"installs"}
			o.Events = []report.Selector{{Name: "Purchase", Metrics: []string{"d30_events_cohort"}, As: "purchase"}}
		}, 37, 0},
		{"as the config says", nil, 3, 3},
		{"never", func(o *report.Options) { o.Query.Metrics = []string{"installs", "cohort_revenue"} }, 1000, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 5, Apps: 1, Rate: -1})
				defer r.close()
				time.Sleep(6 * time.Hour)
				r.start(40)
				r.options.FinalAfter = c.finalAfter
				r.options.Query.Dimensions = []string{"day", "network"}
				r.options.Events = nil
				if c.change != nil {
					c.change(&r.options)
				}
				r.ok()
				table, err := r.ledger.Table(t.Context(), "installs")
				check(t, err)
				for _, e := range table.Sorted() {
					age := int(time.Since(e.Partition.AddDays(1).In(time.UTC)).Hours() / 24)
					want := "restating"
					if age >= c.final {
						want = "final"
					}
					if e.Finality != want || e.State != ledger.Written {
						t.Errorf("%s, over for %d days: %s, want %s", e.Partition, age, e.Finality, want)
					}
				}
			})
		})
	}
}

// What happened on the last day of a cohort is restated like that of any other day: roas_d14 stays
// restating until then, and the fetch after it brings the number that stays.
func TestTheLastDayOfACohortIsRestated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, schedule := nightly(t, "0 6 * * *", "UTC")
		defer r.close()
		r.options.Events, r.options.Drift = nil, report.Drift{}
		r.options.Query.Dimensions, r.options.Query.Metrics = []string{"day", "network"},
			[]string{"installs", "roas_d14"}
		roas, _ := catalog.Metric("roas_d14")
		final, _ := roas.FinalAfter("")
		r.options.Rules.Lookback, r.options.Rules.Horizons = catalog.Restated, []int{roas.Horizon, final}
		first := civil.DateOf(time.Now())
		r.from(first)
		for night := range 30 {
			sleepTo(schedule)
			if night == 17 {
				check(t, r.server.Restate(t.Context(), emulator.Restatement{Day: first.String(), Metric: "cost",
					Factor: 0.8}))
			}
			r.ok()
		}
		header, rows := r.truth(first)
		sameRows(t, first, readParquet(t, r.files()[first]), header, rows)
	})
}
