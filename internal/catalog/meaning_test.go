package catalog

import (
	"maps"
	"slices"
	"testing"
)

// What a metric's descriptions say to people of its values, its sums and the time when it is final.
func TestMeaningInWords(t *testing.T) {
	for _, c := range []struct{ slug, unit, summable, final string }{
		{"installs", "count", "yes", "7 days after the period"},
		{"daus", "count", "not over time", "7 days after the period"},
		{"installs_per_mile", "number", "no", "7 days after the period"},
		{"network_cost", "money", "yes", "14 days after the period"},
		{"network_cost_diff", "money", "no", "14 days after the period"},
		{"cost", "money", "yes", "7 days after the period"},
		{"cohort_revenue", "money", "yes", "never: it grows for as long as users are active"},
		{"retention_rate_d3", "ratio", "no", "10 days after the period of the install"},
		{"roas_d30", "ratio", "no", "37 days after the period of the install"},
		{"time_spent_per_session_w1", "seconds", "no", "20 days after the period of the install"},
		{"sessions_per_user_d7", "number", "no", "14 days after the period of the install"},
		{"mavg_7_retention_rate_d30", "ratio", "no", "37 days after the period of the install"},
		{"mavg_7_installs", "count", "no", "7 days after the period"},
		{"purchase_d7_events_cost_cohort", "money", "no", "14 days after the period of the install"},
		{"purchase_skan_event_ecr_est", "ratio", "no", "7 days after the period"},
	} {
		f, ok := Metric(c.slug)
		if !ok {
			f, ok = Guess(c.slug)
		}
		if got := f.Unit(); !ok || got != c.unit || f.Summable() != c.summable || f.Final("adjust") != c.final {
			t.Errorf("%s: %v, %q, %q, %q", c.slug, ok, got, f.Summable(), f.Final("adjust"))
		}
	}
	for _, c := range [][2]string{{"network", "14 days after the period"}, {"mixed", "14 days after the period"},
		{"adjust", "7 days after the period"}} {
		if f, _ := Metric("cost"); f.Final(c[0]) != c[1] {
			t.Errorf("cost with ad_spend_mode %s: %s", c[0], f.Final(c[0]))
		}
	}
	for slug, want := range map[string]string{
		"roas_{p}":          "7 days after {p} has passed since the install",
		"mavg_{window}_{m}": "as {m}",
	} {
		if got := metrics()[slug].Final("adjust"); got != want {
			t.Errorf("%s: %s", slug, got)
		}
	}
	for _, name := range Dimensions() {
		if f := dimensions()[name]; f.IsMetric() || f.Unit() != "" || f.Summable() != "" || f.Final("adjust") != "" {
			t.Errorf("%s: %q, %q, %q", name, f.Unit(), f.Summable(), f.Final("adjust"))
		}
	}
}

// The table gives a unit to every number whose type doesn't decide it, and to no other.
func TestUnits(t *testing.T) {
	known := append(slices.Collect(maps.Keys(Units())), anyMetric)
	for slug, f := range metrics() {
		if !slices.Contains(known, f.Unit()) || !f.IsMetric() {
			t.Errorf("%s has the unit %q", slug, f.Unit())
		}
		if (f.unit != "") != (f.Type == Double) {
			t.Errorf("%s, %v, has %q in the table", slug, f.Type, f.unit)
		}
	}
}

// Of a metric that the catalogue lacks, the service's own words are what there is to say.
func TestDescribed(t *testing.T) {
	for formatting, want := range map[string]struct {
		typ  Type
		unit string
	}{
		"integer": {Int64, "count"}, "money": {Decimal, "money"}, "Money precise": {Decimal, "money"},
		"percent":        {Double, "ratio"},
		"percent_change": {Double, "ratio"}, "timeperiod": {Double, "seconds"}, "decimal": {Double, "number"},
		"": {Double, "number"},
	} {
		f := Described("brand_new", formatting, "Brand new")
		if f.Slug != "brand_new" || f.Description != "Brand new" || f.Type != want.typ || f.Unit() != want.unit ||
			f.Summable() != "no" {
			t.Errorf("%q: %+v", formatting, f)
		}
	}
}

// Of a metric that the catalogue lacks the slug tells when it is final, or nobody does.
func TestUnknownMetrics(t *testing.T) {
	for slug, want := range map[string]string{
		"anything_d90":     "97 days after the period of the install",
		"anything_w8":      "69 days after the period of the install",
		"anything_m3_rate": "126 days after the period of the install",
		"d400_of_anything": "407 days after the period of the install",
		"anything":         "not known; taken for 7 days after the period",
		"anything_x8":      "not known; taken for 7 days after the period",
		"dm30":             "not known; taken for 7 days after the period",
	} {
		if got := Described(slug, "", "").Final(""); got != want {
			t.Errorf("%s: %s, want %s", slug, got, want)
		}
	}
}
