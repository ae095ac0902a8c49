package inspect

import (
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/sinks"
)

func TestSummed(t *testing.T) {
	schema := &sinks.Schema{On: "day", Columns: []sinks.Column{
		{Name: "day", Required: true}, {Name: "network", Required: true}, {Name: "app", Required: true},
		{Name: "installs"}, {Name: "cost"}, {Name: "revenue"}, {Name: "ad_revenue"}, {Name: "gross_profit"},
		{Name: "ecpi_all"},
		{Name: "network_cost_diff"}, {Name: "cohort_size_d7"}, {Name: "purchase_d1_events_rate_cohort"},
		{Name: "purchase_d1_events_cohort"}, {Name: "purchase_d7_events_rate_cohort"},
		{Name: "purchase_d7_events_cohort"},
	}}
	v, left, err := Summed("t", schema, []string{"app"})
	if err != nil {
		t.Fatal(err)
	}
	ratios := map[string]string{}
	for _, r := range v.Ratios {
		ratios[r.Name] = r.Formula
	}
	want := map[string]string{
		"ecpi_all": "cost/installs", "purchase_d7_events_rate_cohort": "purchase_d7_events_cohort/cohort_size_d7",
	}
	for name, formula := range want {
		if ratios[name] != formula {
			t.Errorf("%s = %q, want %q", name, ratios[name], formula)
		}
	}
	if !slices.Equal(v.Sums, []string{"installs", "cost", "revenue", "ad_revenue", "gross_profit", "cohort_size_d7",
		"purchase_d1_events_cohort", "purchase_d7_events_cohort"}) {
		t.Errorf("sums: %v", v.Sums)
	}
	if len(left) != 2 || !strings.HasPrefix(left[0], "network_cost_diff, which needs") ||
		left[1] != "purchase_d1_events_rate_cohort, which needs cohort_size_d1 in the table" {
		t.Errorf("left out: %v", left)
	}
}
