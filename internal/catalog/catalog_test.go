package catalog

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestMetric(t *testing.T) {
	for _, c := range []struct {
		slug  string
		typ   Type
		found bool
	}{
		{"installs", Int64, true},
		{"cost", Decimal, true},
		{"ecpi_all", Decimal, true},
		{"daus", Double, true},
		{"retention_rate_d7", Double, true},
		{"retained_users_d120", Int64, true},
		{"retained_users_d121", String, false},
		{"retained_users_d07", String, false},
		{"retained_users_D7", String, false},
		{"retained_users_7d", String, false},
		{"retained_users_w52", Int64, true},
		{"retained_users_w53", String, false},
		{"all_revenue_total_m36", Decimal, true},
		{"all_revenue_total_m37", String, false},
		{"cohort_revenue_d7", String, false},
		{"ad_revenue_admob", Decimal, true},
		{"ad_revenue_admob_d7", Decimal, true},
		{"ad_rpm_fyber", Decimal, true},
		{"ad_revenue_nobody", String, false},
		{"conversion_value_0", Int64, true},
		{"conversion_value_63", Int64, true},
		{"conversion_value_64", String, false},
		{"conversion_value_07", String, false},
		{"skad_direct_conversion_value_9", Int64, true},
		{"conversion_1", Int64, true},
		{"skad_conversion_6", Int64, true},
		{"conversion_0", String, false},
		{"skad_direct_conversion_7", String, false},
		{"skad_coarse_conversion_values_none_2", Double, true},
		{"skad_coarse_conversion_values_high_3", String, false},
		{"installs_per_mile", Double, true},
		{"mavg_7_installs", Double, true},
		{"mavg_upper_7_95_roas_d7", Double, true},
		{"mavg_margin_of_error_28_90_network_cost", Double, true},
		{"mavg_7_nothing", String, false},
		{"mavg_7_purchase_events", String, false},
		{"subscrevnt_refund_revenue", Decimal, true},
		{"subscription_renewal_from_billing_retry_events_total_w1", Int64, true},
		{"subscription_paused_revenue_d1", String, false},
		{"subscription_install_to_trial_started_rate_d7", Double, true},
		{"subscription_revenue_d30", Decimal, true},
		{"general revenue_events_est", Double, true},
		{"general_revenue_events_est", Double, true},
		{"iap_revenue", String, false},
		{"retained_users_{p}", String, false},
		{"purchase_events", String, false},
		{"", String, false},
	} {
		f, ok := Metric(c.slug)
		if ok != c.found || f.Type != c.typ || ok && f.Slug != c.slug {
			t.Errorf("Metric(%q) = %v %v %q, want %v %v", c.slug, ok, f.Type, f.Slug, c.found, c.typ)
		}
	}
}

// What each kind of metric says of sums, dates and the time when it is final.
func TestMeaning(t *testing.T) {
	for _, c := range []struct {
		slug        string
		additive    Additive
		horizon     int
		accumulates bool
		cost        string // "always", "never" or "mode"
	}{
		{"installs", Everywhere, 0, false, "never"},
		{"adjust_cost", Everywhere, 0, false, "never"},
		{"cost", Everywhere, 0, false, "mode"},
		{"gross_profit", Everywhere, 0, false, "mode"},
		{"network_cost", Everywhere, 0, false, "always"},
		{"ecpi_network", Nowhere, 0, false, "always"},
		{"network_cost_diff", Nowhere, 0, false, "always"},
		{"network_installs_diff", Nowhere, 0, false, "always"},
		{"network_installs_diff_signed", Everywhere, 0, false, "always"},
		{"network_assisted_installs", Nowhere, 0, false, "never"},
		{"assisted_installs", Nowhere, 0, false, "never"},
		{"base_assisted_installs", Nowhere, 0, false, "never"},
		{"non_assisted_installs", Nowhere, 0, false, "never"},
		{"assisted_reattributions", Nowhere, 0, false, "never"},
		{"qualifiers", Everywhere, 0, false, "never"},
		{"daus", NotOverTime, 0, false, "never"},
		{"maus", NotOverTime, 0, false, "never"},
		{"arpdau", Nowhere, 0, false, "never"},
		{"ctr", Nowhere, 0, false, "never"},
		{"revenue_min", Everywhere, 0, false, "never"},
		{"cohort_revenue", Everywhere, 0, true, "never"},
		{"cohort_ad_revenue_tapjoy", Everywhere, 0, true, "never"},
		{"uninstall_cohort", Everywhere, 0, true, "never"},
		{"cohort_gross_profit", Everywhere, 0, true, "mode"},
		{"roas", Nowhere, 0, true, "mode"},
		{"return_on_investment", Nowhere, 0, true, "mode"},
		{"revenue_to_cost", Nowhere, 0, true, "mode"},
		{"retained_users_d0", Everywhere, 0, false, "never"},
		{"retained_users_d7", Everywhere, 7, false, "never"},
		{"cohort_size_w0", Everywhere, 6, false, "never"},
		{"time_spent_w1", Everywhere, 13, false, "never"},
		{"all_revenue_total_m0", Everywhere, 29, false, "never"},
		{"lifetime_value_d30", Nowhere, 30, false, "never"},
		{"lifetime_value_m36", Nowhere, 1109, false, "never"},
		{"roas_d7", Nowhere, 7, false, "mode"},
		{"cost_per_paying_user_w52", Nowhere, 370, false, "mode"},
		{"ad_impressions_topon_d120", Everywhere, 120, false, "never"},
		{"subscription_roas_d14", Nowhere, 14, false, "mode"},
		{"subscrevnt_revenue", Everywhere, 0, false, "never"},
		{"skad_revenue_est_roas", Nowhere, 0, false, "always"},
		{"incremental_revenue", Nowhere, 0, false, "never"},
		{"mavg_7_installs", Nowhere, 0, false, "never"},
		{"mavg_7_roas", Nowhere, 0, true, "mode"},
		{"mavg_lower_7_95_retention_rate_w1", Nowhere, 13, false, "never"},
		{"purchase_events", Everywhere, 0, false, "never"},
		{"purchase_d3_events_rate_cohort", Nowhere, 3, false, "never"},
		{"purchase_w1_conversions_cohort", Everywhere, 13, false, "never"},
		{"purchase_d3_events_cost_cohort", Nowhere, 3, false, "mode"},
		{"purchase_skan_ecpa", Nowhere, 0, false, "always"},
		{"mavg_7_purchase_d3_events_cohort", Nowhere, 3, false, "never"},
	} {
		f, ok := Metric(c.slug)
		if !ok {
			f, ok = Guess(c.slug)
		}
		cost := map[[2]bool]string{{true, true}: "always", {true, false}: "mode"}[[2]bool{f.NetworkCost("network"),
			f.NetworkCost("adjust")}]
		if cost == "" {
			cost = "never"
		}
		if !ok || f.Slug != c.slug || f.Additive != c.additive || f.Horizon != c.horizon ||
			f.Accumulates != c.accumulates || cost != c.cost || f.NetworkCost("mixed") != f.NetworkCost("network") {
			t.Errorf("%s: %v %+v, network cost %s", c.slug, ok, f, cost)
		}
	}
}

func TestAdditiveOver(t *testing.T) {
	for slug, want := range map[string]string{"installs": "all", "ctr": "none", "waus": "but time"} {
		f, _ := Metric(slug)
		for _, d := range append(Dimensions(), "half_year") {
			// The last may be one.
			time := slices.Contains([]string{"hour", "day", "week", "month", "quarter", "year", "half_year"}, d)
			if got := f.AdditiveOver(d); got != (want == "all" || want == "but time" && !time) {
				t.Errorf("%s over %s: %v", slug, d, got)
			}
		}
	}
	if (Field{}).AdditiveOver("network") {
		t.Error("a metric of which nothing is known may be summed")
	}
}

// The table says nothing that contradicts itself: what is shaped like a ratio isn't summed, and
// what is summed over time is dated and final in one way.
func TestTable(t *testing.T) {
	summed := []string{} // numbers that are sums, although they aren't counts or money
	for _, cells := range rows(metricsTSV, 7) {
		slug, horizon := cells[0], cells[4]
		f := metrics()[slug]
		ratio := strings.Contains(f.Description, "/") || strings.Contains(f.Description, "|")
		if ratio && f.Additive != Nowhere {
			t.Errorf("%s is summed: %s", slug, f.Description)
		}
		if f.Type == Double && f.Additive == Everywhere {
			summed = append(summed, slug)
		}
		if f.Description == "" || f.Type != Int64 && f.Type != Decimal && f.Type != Double {
			t.Errorf("%s: type %v, description %q", slug, f.Type, f.Description)
		}
		if !slices.Contains([]string{"", "network", "mode", anyMetric}, f.spend) {
			t.Errorf("%s: spend %q", slug, f.spend)
		}
		want := ""
		switch {
		case strings.Contains(slug, period):
			want = period
		case strings.Contains(slug, anyMetric):
			want = anyMetric
		case f.Accumulates:
			want = "now"
		}
		if horizon != want {
			t.Errorf("%s has horizon %q", slug, horizon)
		}
	}
	if want := []string{"time_spent_{p}", "general_revenue_events_est", "general revenue_events_est",
		"iap_revenue_events_est", "skad_general_events_est", "{e}_events_est",
		"skad_coarse_conversion_values_{coarse}_{postback}"}; !slices.Equal(summed, want) {
		t.Errorf("doubles that are summed: %q, want %q", summed, want)
	}
}

// Every pattern is found by a slug of its own, and no other pattern is taken for it.
func TestPatterns(t *testing.T) {
	fill := strings.NewReplacer(period, "w2", anyEvent, "buy", anyMetric, "installs", "{value}", "63", "{bit}", "6",
		"{coarse}", "low", "{postback}", "1", "{window}", "7", "{confidence}", "95", "{src}", "publisher_sdk",
		"{sub}", "renewal_from_billing_retry", "{kind}", "refund", "{from}", "install", "{to}", "trial", "{FROM}",
		"cohort_size_w2", "{TO}", "subscription_trial_started_events_total_w2", "{P}", "2W", "{E}", "buy")
	n := 0
	for _, slug := range Metrics() {
		if !strings.Contains(slug, "{") {
			continue
		}
		n++
		find := Metric
		if strings.HasPrefix(slug, anyEvent) {
			find = Guess
		}
		f, ok := find(fill.Replace(slug))
		if want := metrics()[slug]; !ok || f.Description != fill.Replace(want.Description) || f.Type != want.Type ||
			strings.Contains(f.Description, "{") {
			t.Errorf("%s is found %v as %q", fill.Replace(slug), ok, f.Description)
		}
	}
	if n != 140 {
		t.Errorf("%d patterns", n)
	}
}

func TestEventMetric(t *testing.T) {
	for suffix, want := range map[string]Type{
		"events": Int64, "revenue": Decimal, "d7_revenue_cohort": Decimal, "w3_events_rate_cohort": Double,
		"events_verified_passed": Int64, "skan_ecpa": Double, "skan_event_rpu_max": Decimal,
	} {
		if f, ok := EventMetric(suffix); !ok || f.Type != want || f.Slug != suffix {
			t.Errorf("EventMetric(%q) = %v %v %q, want %v", suffix, ok, f.Type, f.Slug, want)
		}
	}
	for _, suffix := range []string{"some_events", "d999_revenue_cohort", "{p}_revenue_cohort", "installs", ""} {
		if f, ok := EventMetric(suffix); ok {
			t.Errorf("EventMetric(%q) = %q", suffix, f.Description)
		}
	}
	if f, _ := EventMetric("w1_events_cohort"); f.Horizon != 13 || f.Description != "1W {E} (Events)" {
		t.Errorf("%+v", f)
	}
}

func TestGuess(t *testing.T) {
	for slug, want := range map[string]string{
		"purchase_events":              "purchase",
		"level up_d7_revenue_cohort":   "7D level up (Revenue)",
		"_events":                      "",
		"events":                       "",
		"purchase":                     "",
		"retained_users_d7":            "", // a metric, no guess
		"mavg_7_installs":              "", // neither
		"mavg_7_buy_events":            "Moving average of buy_events",
		"mavg_7_buy":                   "",
		"buy_d121_revenue_cohort":      "",
		"buy_d7_events_per_conversion": "",
	} {
		f, ok := Guess(slug)
		if ok != (want != "") || f.Description != want || ok && f.Slug != slug {
			t.Errorf("Guess(%q) = %v %+v", slug, ok, f)
		}
	}
}

func TestDimension(t *testing.T) {
	if n := len(Dimensions()); n != 35 {
		t.Errorf("%d dimensions, the interface has 35", n)
	}
	if f, ok := Dimension("week"); !ok || f.Type != Week || !f.Type.IsDate() {
		t.Errorf("week = %v %v", f, ok)
	}
}

// No suggestion is the refused name itself.
func TestSuggestion(t *testing.T) {
	for slug, want := range map[string]string{
		"daus":              "it is known here, refused by this account: the plan may lack it",
		"retained_users_d7": "it is known here, refused by this account: the plan may lack it",
		"instals":           "did you mean installs?", "retention_d7": "did you mean retention_rate_d7?",
		"zzzzzzzz": "", "": "",
	} {
		if got := Suggestion(slug); got != want {
			t.Errorf("%q: %q, want %q", slug, got, want)
		}
	}
}

// A name that the catalogue lacks is doubted where one that it has is near.
func TestDoubt(t *testing.T) {
	for name, want := range map[string]string{
		"instals": "the catalogue doesn't know instals; did you mean installs?", "installs": "", "day": "",
		"purchase_events": "", "roas_d7": "", "zzzzzzzz": "",
	} {
		if got := Doubt(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	if got := Nearest("instals", Metrics()); !slices.Contains(got, "installs") {
		t.Errorf("Nearest(instals) = %v", got)
	}
	if got := Nearest("zzzzzzzz", Metrics()); len(got) != 0 {
		t.Errorf("Nearest(zzzzzzzz) = %v, want none", got)
	}
}

func TestTypeText(t *testing.T) {
	for typ := String; typ <= Double; typ++ {
		b, _ := typ.MarshalText()
		var back Type
		if err := back.UnmarshalText(b); err != nil || back != typ {
			t.Errorf("%v: %v %v", typ, back, err)
		}
	}
	var none Type
	if none.UnmarshalText([]byte("varchar")) == nil {
		t.Error("varchar is taken for a type")
	}
}

// The metrics by the glossary's own groups: how many of each there are, and those that reports ask
// for most.
func TestGlossary(t *testing.T) {
	for _, slug := range strings.Fields(`installs clicks impressions sessions cost network_cost network_cost_diff
		network_installs network_clicks network_impressions network_ecpi ecpi ecpi_all ad_revenue ad_impressions revenue
		all_revenue cohort_all_revenue cohort_revenue daus maus events revenue_events att_status_authorized
		att_status_denied att_status_non_determined att_status_restricted att_consent_rate reattributions reinstalls
		uninstalls retained_users_d30 retention_rate_d1 cohort_size_d0 paying_users_d6 all_revenue_total_d120
		ad_revenue_total_d120 revenue_total_d120 roas_d0 roas_iap_d7 roas_ad_d7 lifetime_value_d7 skad_installs
		limit_ad_tracking_installs redownload_sessions network_installs_diff_signed subscrevnt_revenue
		subscription_subscription_revenue_total_in_cohort_d7 skan_total_rpu_est skan_total_revenue_min
		revenue_total_per_paying_user_d7 cumulative_paying_users_conversion_rate_d7 average_revenue_per_event
		rejected_install_malformed_advertising_id rejected_installs_malformed_advertising_id
		rejected_reattributions_click_injection_rate rejected_reattribution_click_injection_rate
		iap_revenue_revenue_max skad_general_revenue aar_requests gdpr_forgets kpi_daus ad_spend_network`) {
		if _, ok := Metric(slug); !ok {
			t.Errorf("%s is not known", slug)
		}
	}
	count := func(expr string) (n int) {
		re := regexp.MustCompile(expr)
		for _, slug := range Metrics() {
			if re.MatchString(slug) {
				n++
			}
		}
		return n
	}
	for expr, want := range map[string]int{
		`^\{e\}_`: 42, `^rejected_`: 27, `_\{p\}$`: 83, `^network_`: 24, `^skad_`: 42, `^skan_`: 12, `^mavg_`: 4,
		`^subscrevnt_.*_events$`: 17, `^subscrevnt_(.*_)?revenue$`: 8, `^subscription_.*\{p\}`: 9, `^att_`: 5,
		`^redownload_`: 4, `^aar_`: 4, `\{src\}`: 6, `^general[ _]revenue_`: 12, `^iap_revenue_`: 6,
	} {
		if got := count(expr); got != want {
			t.Errorf("%d metrics look like %q, want %d", got, expr, want)
		}
	}
}
