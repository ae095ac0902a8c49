package report_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/report"
)

// A plan counts the requests that its run makes: windows that changes of clocks cut, days that are
// asked for in two pieces, and lists of apps that no address holds, of rows and of totals.
func TestPlannedRequests(t *testing.T) {
	many := make([]string, 600)
	for i := range many {
		many[i] = fmt.Sprintf("none%08d", i)
	}
	for _, c := range []struct {
		name, zone string
		metrics    []string
		apps       []string
		least      int
	}{
		{"no zone", "", []string{"installs", "cost"}, nil, 3},
		{"a zone without changes", "Asia/Kolkata", []string{"installs", "cost"}, nil, 3},
		{"sums", "Europe/Berlin", []string{"installs", "cost"}, nil, 8},
		{"ratios", "Europe/Berlin", []string{"installs", "ecpi_all"}, nil, 6},
		{"apps", "", []string{"installs", "cost"}, many, 6},
		{"apps and a zone", "Europe/Berlin", []string{"installs", "cost"}, many, 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				day := civil.Date{Year: 2026, Month: 10, Day: 23} // two days before clocks go back
				time.Sleep(time.Until(day.AddDays(6).In(time.UTC).Add(6 * time.Hour)))
				r := newRig(t, emulator.Options{Seed: 3, Apps: 2, Days: 40, Rate: -1,
					Readings: alone("unknown-apps=none")})
				defer r.close()
				r.options.Query.Dimensions, r.options.Query.Metrics, r.options.Events = []string{"day", "network"},
					c.metrics, nil
				if c.zone != "" {
					loc, err := time.LoadLocation(c.zone)
					check(t, err)
					r.options.Rules.Location, r.options.Query.UTCOffset, r.options.Query.Zone = loc, "", loc
				}
				if c.apps != nil {
					r.options.Query.Filters = map[string][]string{"app_token__in": append(r.tokens(), c.apps...)}
				}
				r.from(day)
				o := r.options
				o.Ledger, o.SpoolDir, o.Targets = r.ledger, r.spool, []ledger.Target{{Name: "out", Sink: r.sink}}
				kind, err := report.New(o)
				check(t, err)
				plan, err := kind.Plan(t.Context(), time.Now())
				check(t, err)
				planned := 0
				for _, u := range plan.Units {
					planned += u.Requests
				}
				if res := r.ok(); planned != int(res.Outcome.Requests) || planned < c.least {
					t.Errorf("%d requests are planned, and %d made, want at least %d", planned, res.Outcome.Requests,
						c.least)
				}
			})
		})
	}
}
