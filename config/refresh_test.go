package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/config/kinds"
)

// parseReport reads a file of one report job with these lines among its keys.
func parseReport(t *testing.T, lines ...string) (*Config, error) {
	t.Helper()
	text := "service: embedded\njobs:\n- name: a\n  kind: report\n  sinks: [mem://]\n  start: -7d\n  currency: USD\n"
	for _, l := range lines {
		text += "  " + l + "\n"
	}
	return Parse("f.yml", []byte(text), testEnv)
}

// When partitions are fetched again, from the metrics.
func TestLookback(t *testing.T) {
	for _, c := range []struct {
		lines    []string
		days     int
		horizons []int
		warnings int
	}{
		{[]string{"metrics: [installs, clicks]"}, 7, nil, 0},
		{[]string{"metrics: [installs]", "lookback: auto"}, 7, nil, 0},
		{[]string{"metrics: [installs]", "lookback: 0"}, 0, nil, 0},
		{[]string{"metrics: [installs]", "lookback: 3660"}, 3660, nil, 0},
		// d7 is whole 7 days after the day of the install, when the lookback's last fetch is; w1
		// after 13, m0 after 29. What happened on the last of these days is restated for 7 days, or
		// 14, so they are final after that.
		{[]string{"metrics: [retention_rate_d7]"}, 7, []int{14}, 0},
		{[]string{"metrics: [retention_rate_d8]"}, 7, []int{8, 15}, 0},
		{[]string{"metrics: [roas_d30, retained_users_d1, revenue_total_m0, revenue_total_w1, paying_users_d30]"}, 7,
			[]int{8, 13, 20, 29, 30, 36, 37}, 0},
		{[]string{"metrics: [roas_d30]", "lookback: 7"}, 7, nil, 0},
		// What networks report is restated for longer; the catalogue knows which metrics rest on
		// it, and when.
		{[]string{"metrics: [network_cost]"}, 14, nil, 0},
		{[]string{"metrics: [network_cost, retained_users_d14, retained_users_d15]"}, 14, []int{15, 21, 22}, 0},
		{[]string{"metrics: [cost]"}, 7, nil, 0},
		{[]string{"metrics: [cost]", "ad_spend_mode: network"}, 14, nil, 0},
		{[]string{"metrics: [ecpi_all, roas_d30]", "ad_spend_mode: mixed"}, 14, []int{30, 44}, 0},
		{[]string{"metrics: [network_cost]", "lookback: 3"}, 3, nil, 0},
		// Metrics of events, by their endings.
		{[]string{"metrics: [purchase_d30_revenue_cohort]"}, 7, []int{30, 37}, 0},
		{[]string{"events: [{glob: x*, metrics: [events, d60_revenue_cohort]}, {name: P, metrics: " +
			"[w2_events_cohort]}]"}, 7, []int{20, 27, 60, 67}, 0},
		{[]string{"events: [{name: P, metrics: [d30_events_cost_cohort]}]", "ad_spend_mode: network"}, 14,
			[]int{30, 44}, 0},
		// Metrics that no day ends.
		{[]string{"metrics: [cohort_revenue, roas, roas_d30]"}, 7, []int{30, 37}, 1},
		{[]string{"metrics: [cohort_revenue]", "lookback: 100"}, 100, nil, 1},
		// What counts as final is fetched at that age. A cohort that ends later still moves it.
		{[]string{"metrics: [installs]", "final_after: 30d"}, 7, []int{30}, 0},
		{[]string{"metrics: [installs]", "final_after: 7d"}, 7, nil, 0},
		{[]string{"metrics: [roas_d30]", "final_after: 30d"}, 7, []int{30, 37}, 1},
		{[]string{"metrics: [roas_d30]", "final_after: 40d"}, 7, []int{30, 37, 40}, 0},
		{[]string{"metrics: [roas_d30]", "final_after: 20d"}, 7, []int{20, 30, 37}, 1},
		{[]string{"metrics: [installs]", "final_after: 30d", "lookback: 3"}, 3, []int{30}, 0},
		{[]string{"metrics: [installs]", "final_after: 5d"}, 7, nil, 1},
		// An unknown metric says nothing but the period in its name.
		{[]string{"metrics: [shiny_d90]"}, 7, []int{90, 97}, 1},
		{[]string{"metrics: [shiny_w8]", "types: {shiny_w8: int64}"}, 7, []int{62, 69}, 0},
		{[]string{"metrics: [shiny_new]"}, 7, nil, 1},
		{[]string{"metrics: [shiny_new]", "types: {shiny_new: int64}"}, 7, nil, 0},
	} {
		got, err := parseReport(t, append(c.lines, "dimensions: [day]")...)
		if err != nil {
			t.Errorf("%q: %v", c.lines, err)
			continue
		}
		r := got.Jobs[0].Report
		if r.Lookback != c.days || !slices.Equal(r.Horizons, c.horizons) || len(got.Warnings) != c.warnings {
			t.Errorf("%q: %d %v, warnings %v; want %d %v, %d warnings", c.lines, r.Lookback, r.Horizons, got.Warnings,
				c.days, c.horizons, c.warnings)
		}
	}
}

// The finest date dimension makes the period and the unit of the page, in any order of the
// dimensions.
func TestPeriod(t *testing.T) {
	all := []string{"hour", "day", "week", "month", "quarter", "year"}
	for i, want := range []struct {
		period string
		page   kinds.Page
	}{{"day", kinds.Page{Count: 7, Unit: 'd'}}, {"day", kinds.Page{Count: 7, Unit: 'd'}},
		{"week", kinds.Page{Count: 4, Unit: 'w'}},
		{"month", kinds.Page{Count: 1, Unit: 'm'}},
		{"quarter", kinds.Page{Count: 1, Unit: 'q'}}, {"year", kinds.Page{Count: 1, Unit: 'y'}}} {
		coarser := slices.Clone(all[i:])
		slices.Reverse(coarser)
		for _, dimensions := range []string{all[i], "app, " + all[i], strings.Join(all[i:], ", "),
			strings.Join(coarser, ", ") + ", os_name"} {
			key := fmt.Sprintf("dimensions: [%s]", dimensions)
			for _, page := range []kinds.Page{{}, {Count: 12, Unit: want.page.Unit}} {
				lines, wantPage := []string{"metrics: [installs]", key}, want.page
				if page.Count > 0 {
					lines, wantPage = append(lines, "page: "+page.String()), page
				}
				c, err := parseReport(t, lines...)
				if err != nil {
					t.Errorf("%s: %v", key, err)
				} else if r := c.Jobs[0].Report; r.Period != want.period || r.Page != wantPage {
					t.Errorf("%s: %s %s, want %s %s", key, r.Period, r.Page, want.period, wantPage)
				}
			}
			for _, other := range "dwmqy" {
				if _, err := parseReport(t, "metrics: [installs]", key, "page: 2"+string(other)); (err == nil) !=
					(byte(other) == want.page.Unit) {
					t.Errorf("%s, page 2%c: %v", key, other, err)
				}
			}
		}
	}
}

func TestPeriodWhole(t *testing.T) {
	c, err := parseReport(t, "metrics: [installs, cohort_revenue, roas_d30]", "dimensions: [app]")
	if err != nil {
		t.Fatal(err)
	}
	r := c.Jobs[0].Report
	if r.Period != "whole" || r.Page != (kinds.Page{}) || r.Lookback != 7 || r.Horizons != nil || len(c.Warnings) > 0 {
		t.Errorf("%+v, warnings %v", r, c.Warnings)
	}
}

// What says where the report's days begin, and where the schedule's do.
func TestTimezone(t *testing.T) {
	for _, c := range []struct {
		lines            string
		zone, offset, id string
	}{
		{"", "UTC", "+00:00", ""},
		{"zone: Asia/Tokyo", "Asia/Tokyo", "+00:00", ""},
		{"utc_offset: -03:30", "UTC", "-03:30", ""},
		{"timezone_id: Europe/Berlin", "Europe/Berlin", "", "Europe/Berlin"},
		{"timezone_id: UTC", "UTC", "", "UTC"},
		{"timezone_id: Europe/Berlin\n  zone: Europe/Berlin", "Europe/Berlin", "", "Europe/Berlin"},
		{"timezone_id: 5\n  zone: Europe/Berlin", "Europe/Berlin", "", "5"},
		{"timezone_id: \"5\"\n  zone: UTC", "UTC", "", "5"},
	} {
		got, err := parseReport(t, "metrics: [installs]", "dimensions: [day]", c.lines)
		if err != nil {
			t.Errorf("%q: %v", c.lines, err)
			continue
		}
		j := got.Jobs[0]
		if j.Zone != c.zone || j.Report.UTCOffset != c.offset || j.Report.TimezoneID != c.id {
			t.Errorf("%q: zone %s, offset %q, id %q", c.lines, j.Zone, j.Report.UTCOffset, j.Report.TimezoneID)
		}
	}
}

// Types of metrics that the catalogue lacks are there for whoever makes the columns.
func TestUnknownMetricTypes(t *testing.T) {
	c, err := parseReport(t, "dimensions: [day]",
		"metrics: [installs, shiny, purchase_events, purchase_revenue, other, level_up_d7_events_rate_cohort]",
		"types: {other: string, installs: double}")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(c.Jobs[0].Report.Types)
	want := "map[installs:double level_up_d7_events_rate_cohort:double other:string purchase_events:int64 " +
		"purchase_revenue:decimal shiny:double]"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(c.Warnings) != 1 || c.Warnings[0].Line != 9 || c.Warnings[0].Col != 23 || c.Warnings[0].File != "f.yml" {
		t.Errorf("%v", c.Warnings)
	}
}
