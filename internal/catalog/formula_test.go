package catalog

import (
	"go/ast"
	"go/parser"
	"strings"
	"testing"
)

func TestFormula(t *testing.T) {
	for slug, want := range map[string]string{
		"installs": "", "ecpi_all": "cost/installs", "installs_per_mile": "(installs*1000)/impressions",
		"network_cost_diff": "abs(network_cost-adjust_cost)", "retention_rate_d7": "retained_users_d7/cohort_size_d7",
		"time_spent_per_user_w1": "time_spent_w1/cohort_size_w1", "gross_profit": "all_revenue-cost",
		"skad_conversion_value_null_rate": "skad_conversion_value_null/skad_total_installs",
		"skad_ecpi":                       "network_ad_spend_skan/skad_installs",
		"skad_revenue_max_roi": "((skan_total_revenue_max*skad_installs)/" +
			"(network_ad_spend_skan*valid_conversions))-1",
		"skad_revenue_est_roas": "(skan_total_revenue_est*skad_installs)/" +
			"(network_ad_spend_skan*valid_conversions)",
		"rejected_install_rate":            "rejected_installs/(installs+rejected_installs)",
		"ecpi":                             "cost/paid_installs",
		"revenue_total_per_paying_user_d7": "revenue_total_d7/first_paying_users_total_d7",
		"revenue_events_total_per_paying_user_w1": "revenue_events_total_in_cohort_w1/" +
			"first_paying_users_total_w1",
		"cumulative_paying_users_conversion_rate_m1": "first_paying_users_total_m1/cohort_size_m1",
		"skan_total_rpu_min":                         "skan_total_revenue_min/valid_conversions",
		"subscription_install_to_renewal_rate_d7":    "subscription_renewal_events_total_d7/cohort_size_d7",
		"subscription_trial_to_activation_rate_d7": "subscription_activation_events_total_d7/" +
			"subscription_trial_started_events_total_d7",
		"subscription_trial_started_to_renewal_rate_w2": "subscription_renewal_events_total_w2/" +
			"subscription_trial_started_events_total_w2",
		"subscription_install_to_trial_rate_d7": "subscription_trial_started_events_total_d7/" +
			"cohort_size_d7",
		"subscription_discounted_offer_to_renewal_rate_d30": "subscription_renewal_events_total_d30/" +
			"subscription_discounted_offer_events_total_d30",
	} {
		f, ok := Metric(slug)
		if got := f.Formula(); !ok || got != want {
			t.Errorf("%s = %q, want %q", slug, got, want)
		}
	}
	if f, _ := Guess("purchase_d7_events_rate_cohort"); f.Formula() != "purchase_d7_events_cohort/cohort_size_d7" {
		t.Errorf("an event's: %q", f.Formula())
	}
	for slug, want := range map[string]string{
		"buy_skan_event_ecr_max":         "buy_events_max/valid_conversions",
		"buy_skan_event_rpu_est":         "buy_revenue_est/valid_conversions",
		"buy_d7_conversions_rate_cohort": "buy_d7_conversions_cohort/cohort_size_d7",
	} {
		if f, ok := Guess(slug); !ok || f.Formula() != want {
			t.Errorf("%s: %q, want %q", slug, f.Formula(), want)
		}
	}
}

// Every formula is made of operators and of slugs that are metrics themselves.
func TestFormulasAreOfMetrics(t *testing.T) {
	n := 0
	for _, slug := range []string{"d1", "w2", "m3"} {
		for _, pattern := range Metrics() {
			f, ok := Metric(strings.NewReplacer("{p}", slug, "{src}", "admob", "{value}", "3", "{bit}", "2", "{from}",
				"trial", "{to}", "renewal").Replace(pattern))
			formula := f.Formula()
			if !ok || formula == "" {
				continue
			}
			n++
			e, err := parser.ParseExpr(formula)
			if err != nil {
				t.Errorf("%s = %s: %v", f.Slug, formula, err)
				continue
			}
			ast.Inspect(e, func(node ast.Node) bool {
				if id, ok := node.(*ast.Ident); ok && id.Name != "abs" {
					if _, known := Metric(id.Name); !known {
						t.Errorf("%s = %s: %s is no metric", f.Slug, formula, id.Name)
					}
				}
				return true
			})
		}
	}
	if n < 200 {
		t.Errorf("only %d formulas", n)
	}
}

// After how many days the service changes a metric no more.
func TestFinalAfter(t *testing.T) {
	for _, c := range []struct {
		slug, spend string
		days        int
		ever        bool
	}{
		{"installs", "adjust", 7, true},
		{"cost", "adjust", 7, true},
		{"cost", "network", 14, true},
		{"network_cost", "adjust", 14, true},
		{"roas_d3", "adjust", 10, true},
		{"roas_d7", "mixed", 21, true},
		{"roas_d120", "mixed", 134, true},
		{"retained_users_w1", "adjust", 20, true},
		{"cohort_revenue", "adjust", 7, false},
		{"purchase_d30_revenue_cohort", "adjust", 37, true},
	} {
		f, known := Metric(c.slug)
		if !known {
			f, known = Guess(c.slug)
		}
		if days, ever := f.FinalAfter(c.spend); !known || days != c.days || ever != c.ever {
			t.Errorf("%s with ad_spend_mode %s: %d %v, want %d %v", c.slug, c.spend, days, ever, c.days, c.ever)
		}
	}
}
