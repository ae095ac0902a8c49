package catalog

import "testing"

func TestOfCohort(t *testing.T) {
	for slug, want := range map[string]bool{
		"installs": false, "cost": false, "all_revenue_total_d0": true, "all_revenue_total_d7": true,
		"retained_users_d1": true, "cohort_all_revenue": true, "roas_w1": true,
	} {
		if f, known := Metric(slug); !known || f.OfCohort() != want {
			t.Errorf("%s: %v, known: %v", slug, f.OfCohort(), known)
		}
	}
	if f, known := EventMetric("d0_revenue_cohort"); !known || !f.OfCohort() {
		t.Errorf("an event's: %+v", f)
	}
}
