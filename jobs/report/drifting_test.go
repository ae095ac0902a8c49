package report_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// Totals of cohorts that drift by less than the config allows are recorded, cost no further
// requests, and aren't exit code 3; those that drift by more are, until the config allows as much.
// Other metrics have no such tolerance.
func TestCohortDrift(t *testing.T) {
	requests := int64(0)
	for _, c := range []struct {
		choice      string
		share       float64
		near, apart bool
	}{
		{"cohort-drift=none", 0.02, false, false},
		{"cohort-drift=1", 0.02, true, false},
		{"cohort-drift=1", 0, false, true},
		{"cohort-drift=8", 0.02, false, true},
		{"cohort-drift=8", 0.09, true, false},
	} {
		t.Run(c.choice, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, emulator.Options{Seed: 7, Apps: 2, Days: 60, Rate: -1, Readings: alone(c.choice)})
				defer r.close()
				r.start(7)
				r.options.Events, r.options.Cohorts = nil, c.share
				r.options.Query.Metrics = []string{"installs", "retained_users_d1", "all_revenue_total_d0"}
				res := r.ok()
				o := res.Outcome
				if requests == 0 {
					requests = o.Requests
				}
				if (o.Unreconciled > 0) != c.apart || (o.Requests > requests) != c.apart ||
					(jobs.ExitCode([]ledger.Result{res}, false, false) == jobs.ExitSome) != c.apart {
					t.Errorf("allowed are %v: %d unreconciled, %d requests, want %d", c.share, o.Unreconciled,
						o.Requests, requests)
				}
				near := 0
				for _, e := range r.records() {
					if e.Control.State == ledger.Reconciled && len(e.Control.Differences) > 0 {
						near++
					}
					if said := strings.Contains(e.Control.Why, "as reconcile: cohorts allows"); said !=
						(e.Control.State == ledger.Reconciled && c.near && len(e.Control.Differences) > 0) {
						t.Errorf("%s: %+v", e.Partition, e.Control)
					}
					for _, d := range e.Control.Differences {
						if d.Metric == "installs" {
							t.Errorf("%s: %+v", e.Partition, d)
						}
					}
				}
				if (near > 0) != c.near {
					t.Errorf("allowed are %v: %d partitions are near", c.share, near)
				}
			})
		})
	}
}
