package catalog

import "testing"

func TestWithout(t *testing.T) {
	for _, c := range []struct{ slug, placeholder, rest, value string }{
		{"retained_users_d7", "{p}", "retained_users", "d7"}, {"purchase_w12_revenue_cohort", "{p}",
			"purchase_revenue_cohort", "w12"},
		{"d7_deal_d30_events_cohort", "{p}", "d7_deal_events_cohort", "d30"},
		{"_2x_d7_revenue_cohort", "{p}", "_2x_revenue_cohort", "d7"},
		{"ad_revenue_tapjoy_d1", "{p}", "ad_revenue_tapjoy", "d1"}, {"_2x_events", "{e}", "events", "_2x"},
		{"level_up_revenue", "{e}", "revenue", "level_up"},
		{"installs", "{p}", "", ""}, {"cohort_revenue", "{p}", "", ""}, {"purchase_events", "{p}", "", ""},
		{"retained_users_d7", "{e}", "", ""},
	} {
		f, known := Metric(c.slug)
		if !known {
			f, _ = Guess(c.slug)
		}
		if rest, value, ok := f.Without(c.placeholder); rest != c.rest || value != c.value || ok != (c.rest != "") {
			t.Errorf("%s without %s: %q, %q, %v", c.slug, c.placeholder, rest, value, ok)
		}
	}
}
