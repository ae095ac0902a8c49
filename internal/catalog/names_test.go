package catalog

import (
	"slices"
	"strings"
	"testing"
)

// Every placeholder of the table is explained, and what fills it is found.
func TestFilling(t *testing.T) {
	for _, slug := range Metrics() {
		for _, p := range Placeholders(slug) {
			if text := Filling(p); text == "" || strings.HasSuffix(text, "one of ") || choices[p] == nil &&
				placeholders[p] == "" {
				t.Errorf("%s of %s: %q", p, slug, text)
			}
		}
	}
	for placeholder, want := range map[string]string{
		"{value}": "a number from 0 to 63", "{bit}": "a number from 1 to 6",
		"{coarse}":   "one of null, none, low, medium, high",
		"{postback}": "one of 0, 1, 2",
	} {
		if got := Filling(placeholder); got != want {
			t.Errorf("%s: %s", placeholder, got)
		}
	}
	if n := len(Periods()); n != 211 {
		t.Errorf("%d periods", n)
	}
	for _, p := range Periods() {
		if f, ok := Metric("roas_" + p); !ok || f.Pattern != "roas_{p}" {
			t.Errorf("roas_%s: %v, by %q", p, ok, f.Pattern)
		}
	}
}

func TestLine(t *testing.T) {
	for name, want := range map[string]bool{"day": true, "installs": true, "roas_{p}": true, "{e}_events": true,
		"roas_d7": false, "": false} {
		if f, ok := Line(name); ok != want || ok && (f.Slug != name || f.Pattern != "") {
			t.Errorf("%s: %v %+v", name, ok, f)
		}
	}
}

func TestWithPeriod(t *testing.T) {
	for _, c := range [][3]string{
		{"roas_{p}", "d7", "roas_d7"}, {"{e}_{p}_revenue_cohort", "w1", "{e}_w1_revenue_cohort"},
		{"roas_{p}", "d200", ""}, {"installs", "d7", ""},
		{"{e}_events", "d7", ""}, {"ad_revenue_{src}_{p}", "d7", ""},
	} {
		f, ok := WithPeriod(c[0], c[1])
		if ok != (c[2] != "") || f.Slug != c[2] && ok || ok &&
			(f.Horizon == 0 || strings.Contains(f.Description, "{P}") || f.Pattern != c[0]) {
			t.Errorf("%s with %s: %v %+v", c[0], c[1], ok, f)
		}
	}
}

func TestStarting(t *testing.T) {
	for prefix, want := range map[string]string{
		"roas_i":   "roas_iap roas_iap_d0 roas_iap_d1 roas_iap_d14 roas_iap_d3 roas_iap_d30 roas_iap_d7",
		"roas_d12": "roas_d12 roas_d120",
		"installs": "installs installs_per_mile",
		"roas_d7": "roas_d7 roas_d70 roas_d71 roas_d72 roas_d73 roas_d74 roas_d75 roas_d76 roas_d77 " +
			"roas_d78 roas_d79",
		"ad_revenue_topon_s": "ad_revenue_topon_sdk ad_revenue_topon_sdk_d0 ad_revenue_topon_sdk_d1 " +
			"ad_revenue_topon_sdk_d14 ad_revenue_topon_sdk_d3 ad_revenue_topon_sdk_d30 ad_revenue_topon_sdk_d7",
		"conversion_value_6": "conversion_value_6 conversion_value_60 conversion_value_61 conversion_value_62 " +
			"conversion_value_63",
		"nothing": "",
	} {
		if got := strings.Join(Starting(prefix, true), " "); got != want {
			t.Errorf("%s: %s", prefix, got)
		}
	}
	if got := strings.Join(Starting("campaign", false), " "); got != "campaign campaign_id_network campaign_network" {
		t.Errorf("dimensions: %s", got)
	}
	for _, prefix := range []string{"", "s", "subscription_", "{", "subscription_trial_started_to_"} {
		for _, slug := range Starting(prefix, true) {
			if _, ok := Metric(slug); !ok || !strings.HasPrefix(slug, prefix) {
				t.Errorf("%s is offered for %q", slug, prefix)
			}
		}
	}
	if all := Starting("", true); len(all) > 1200 || !slices.Contains(all, "cost") {
		t.Errorf("%d names", len(all))
	}
}
