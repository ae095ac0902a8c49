package report_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A table of more metrics than an address has room for equals the truth, and its totals agree, in a
// zone whose clocks change too.
func TestMoreMetricsThanAnAddressHolds(t *testing.T) {
	for name, choice := range map[string]string{"as documented": "address-length=any",
		"a service with a bound": "address-length=8000"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 3, Apps: 3, Rate: -1, Readings: alone(choice)})
				defer r.close()
				r.start(3)
				r.options.Events = nil
				r.client.MaxURL = 1200
				r.options.Query.Metrics = []string{"installs", "clicks", "impressions", "cost", "ecpi_all"}
				for _, family := range []string{"all_revenue_total_d%", "sessions_per_user_d%", "retention_rate_d%",
					"paying_user_size_d%", "cost_per_paying_user_d%"} {
					for _, day := range strings.Fields("0 1 2 3 4 5 6 7 14 30") {
						r.options.Query.Metrics = append(r.options.Query.Metrics, strings.ReplaceAll(family, "%", day))
					}
				}
				r.ok()
				longest, requests := 0, 0
				for _, q := range r.server.Requests() {
					if strings.HasSuffix(q.Path, "/csv_report") {
						longest, requests = max(longest, len(q.Path)+len(q.Query)), requests+1
					}
				}
				if longest > 1200 || requests < 3 {
					t.Errorf("%d requests, the longest of %d bytes", requests, longest)
				}
				if n := r.equalsTruth(civil.DateOf(time.Now()).AddDays(-3), 3); n < 50 {
					t.Errorf("only %d cells to compare", n)
				}
				for day, e := range r.records() {
					if e.Control.State != ledger.Reconciled {
						t.Errorf("%s is %+v", day, e.Control)
					}
				}
			})
		})
	}
}
