package report_test

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/report"
	"github.com/reportferry/reportferry/internal/slow"
)

// total sums a metric over a week of a report by day and campaign.
func total(t *testing.T, s *emulator.Server, slug, more string) int64 {
	t.Helper()
	return totals(t, s, []string{slug}, more)[slug]
}

// totals are those of several metrics, by one report.
func totals(t *testing.T, s *emulator.Server, slugs []string, more string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	a := emutest.Report(t, s, "day,campaign", strings.Join(slugs, ","), week+more)
	if len(a.Rows) == 0 {
		return out
	}
	for _, slug := range slugs {
		out[slug] = a.Sum(t, slug)
	}
	return out
}

// splittable are metrics that any split of facts must add up to.
var splittable = []string{"installs", "clicks", "cost", "revenue", "ad_revenue", "network_cost", "revenue_total_d3",
	"purchase_events"}

func TestAttributionTypes(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 5})
	for _, slug := range splittable {
		all, organic := total(t, s, slug, ""), int64(0)
		// Whom no engagement brought.
		for network, cell := range emutest.Report(t, s, "network", slug, week).Column(t, slug) {
			if network == "Organic" || network == "Unknown" || strings.HasPrefix(network, "Unknown Devices") ||
				slices.Contains(strings.Split(
					"Untrusted Devices,Expired Attributions,Disabled Third Party Sharing Before Install,Measurement "+
						"Consent Updated Before Install", ","), network) {
				organic += emutest.Exact(t, cell)
			}
		}
		sum := organic
		for _, kind := range report.AttributionTypes {
			one := total(t, s, slug, "&attribution_types="+kind)
			if one <= organic || one >= all {
				t.Errorf("%s by %s: %d, of organic users %d, of all %d", slug, kind, one, organic, all)
			}
			sum += one - organic
			if kind != "engaged_ad" && total(t, s, slug, "&attribution_type="+kind) != one {
				t.Errorf("%s: attribution_type=%s differs from attribution_types", slug, kind)
			}
		}
		if sum != all {
			t.Errorf("%s by each type adds up to %d, want %d", slug, sum, all)
		}
		for _, more := range []string{"&attribution_types=Click,impression,engaged_ad", "&attribution_type=all",
			"&assisting_attribution_type=click",
			"&assisting_attribution_type=impression", "&assisting_attribution_type=all", "&attribution_types="} {
			if got := total(t, s, slug, more); got != all {
				t.Errorf("%s with %s: %d, want %d", slug, more, got, all)
			}
		}
		two := total(t, s, slug, "&attribution_types=click,impression&attribution_type=click")
		if want := all - total(t, s, slug, "&attribution_types=engaged_ad") + organic; two != want {
			t.Errorf("%s by two types: %d, want %d", slug, two, want)
		}
	}
}

func TestAttributionSource(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 5})
	const metrics = "installs,cost,organic_installs,purchase_revenue"
	dynamic, first := emutest.Report(t, s, "campaign", metrics, week),
		emutest.Report(t, s, "campaign", metrics, week+"&attribution_source=first")
	moved := 0
	last := first.Column(t, "installs")
	for campaign, n := range dynamic.Column(t, "installs") {
		if last[campaign] != n {
			moved++
		}
	}
	if moved < 10 {
		t.Errorf("only %d campaigns have other installs", moved)
	}
	for _, slug := range strings.Split(metrics, ",") {
		if a, b := dynamic.Sum(t, slug), first.Sum(t, slug); a != b || a == 0 {
			t.Errorf("%s: %d dynamic, %d first", slug, a, b)
		}
	}
	// The user's, not the engagement's.
	for _, dims := range []string{"os_name,country,device_type,store_id", "day,app", "network&network__in=organic"} {
		if a, b := emutest.Report(t, s, dims, metrics, week), emutest.Report(t, s, dims, metrics,
			week+"&attribution_source=first"); !slices.EqualFunc(a.Rows, b.Rows, slices.Equal) {
			t.Errorf("first changes the report by %s", dims)
		}
	}
	name := "Brand, broad"
	want := first.Column(t, "installs")
	var sum int64
	for campaign, n := range want {
		if strings.HasPrefix(campaign, name) {
			sum += emutest.Exact(t, n)
		}
	}
	got := emutest.Report(t, s, "year", "installs", week+"&attribution_source=first&campaign__starts_with=BRAND%2C")
	if got.Sum(t, "installs") != sum || sum == 0 {
		t.Errorf("a filter under first: %d installs, want %d", got.Sum(t, "installs"), sum)
	}
	ios := emutest.Report(t, s, "campaign", "installs",
		week+"&attribution_source=first&os_name__in=ios&campaign__starts_with=brand")
	both := emutest.Report(t, s, "campaign,os_name", "installs", week+"&attribution_source=first")
	for _, r := range both.Rows {
		if r[1] == "ios" && strings.HasPrefix(r[0], "Brand") && ios.Column(t, "installs")[r[0]] != r[2] {
			t.Errorf("filters of both kinds under first: %q is %s", r, ios.Column(t, "installs")[r[0]])
		}
	}
	if total(t, s, "installs", "&attribution_source=dynamic") != total(t, s, "installs", "") {
		t.Error("attribution_source=dynamic isn't the default")
	}
}

func TestSplitsOfFacts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "facts.db")
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 5, DB: file})
	for _, slug := range splittable {
		all, yes, no := total(t, s, slug, "&reattributed=all"), total(t, s, slug, "&reattributed=true"),
			total(t, s, slug, "&reattributed=FALSE")
		if yes+no != all || yes == 0 || yes > all/3 || all != total(t, s, slug, "") {
			t.Errorf("%s: %d reattributed and %d not, of %d", slug, yes, no, all)
		}
		production, sandbox := total(t, s, slug, "&sandbox=false"), total(t, s, slug, "&sandbox=true")
		if production != all || sandbox > all/20 || sandbox == 0 &&
			!slices.Contains([]string{"cost", "network_cost", "revenue_total_d3"}, slug) {
			t.Errorf("%s: production %d, sandbox %d, want %d", slug, production, sandbox, all)
		}
	}
	var rows, tests int
	emutest.Scan(t, file, fmt.Sprintf("SELECT count(*), sum(sandbox) FROM facts WHERE day BETWEEN %d AND %d",
		facts.DayOf(emutest.Noon)-13, facts.DayOf(emutest.Noon)-7), &rows, &tests)
	if tests == 0 || tests > rows/10 {
		t.Errorf("%d of %d facts are tests", tests, rows)
	}
}

func TestAdRevenueSources(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon})
	metrics := []string{"ad_revenue", "ad_impressions", "ad_revenue_total_d7", "ad_impressions_d1"}
	asked := append([]string{"ad_revenue_admob"}, metrics...)
	for _, source := range facts.AdSources {
		if source.Slug != "admob" {
			asked = append(asked, "ad_revenue_"+source.Slug)
		}
	}
	of, sums := totals(t, s, asked, ""), map[string]int64{}
	for _, source := range facts.AdSources {
		one := totals(t, s, asked[:1+len(metrics)],
			"&ad_revenue_sources="+strings.ReplaceAll(strings.ToUpper(source.Name), " ", "%20"))
		for _, m := range metrics {
			if one[m] == 0 {
				t.Errorf("%s of %s is 0", m, source.Name)
			}
			sums[m] += one[m]
		}
		if a, b := one["ad_revenue"], of["ad_revenue_"+source.Slug]; a != b {
			t.Errorf("ad revenue of %s: %d, ad_revenue_%s: %d", source.Name, a, source.Slug, b)
		}
		if a, b := one["ad_revenue_admob"], of["ad_revenue_admob"]; source.Slug != "admob" && a != 0 ||
			source.Slug == "admob" && a != b {
			t.Errorf("ad_revenue_admob of %s: %d", source.Name, a)
		}
	}
	for _, m := range metrics {
		if sums[m] != of[m] {
			t.Errorf("%s of all sources: %d, want %d", m, sums[m], of[m])
		}
	}
	two := total(t, s, "ad_revenue", "&ad_revenue_sources=AdMob,Unity%20SDK")
	if want := total(t, s, "ad_revenue", "&ad_revenue_sources=admob") + total(t, s, "ad_revenue",
		"&ad_revenue_sources=unity%20sdk"); two != want {
		t.Errorf("two sources: %d, want %d", two, want)
	}
	others := []string{"installs", "revenue", "cost", "revenue_total_d7"}
	if a, b := totals(t, s, others, ""), totals(t, s, others, "&ad_revenue_sources=Fyber"); !maps.Equal(a, b) {
		t.Errorf("they depend on ad_revenue_sources: %v, %v", a, b)
	}
}

func TestInAppRevenueModes(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 5})
	for _, slug := range []string{"revenue", "revenue_total_d3", "purchase_revenue", "cohort_revenue",
		"purchase_d2_revenue_cohort"} {
		all := total(t, s, slug, "")
		for _, percent := range []int64{100, 95, 85, 80, 70, 65, 60, 50} {
			got := total(t, s, slug, fmt.Sprintf("&iap_revenue_mode=gross_%d", percent))
			// Rows are cut to micros.
			if want := all * percent / 100; got > want || got < want-want/10_000 || percent == 100 && got != all {
				t.Errorf("%s at %d%%: %d of %d", slug, percent, got, all)
			}
		}
	}
	for _, slug := range []string{"ad_revenue", "ad_revenue_total_d7", "cost", "installs"} {
		if a, b := total(t, s, slug, ""), total(t, s, slug, "&iap_revenue_mode=GROSS_50"); a != b {
			t.Errorf("%s depends on iap_revenue_mode: %d, %d", slug, a, b)
		}
	}
}

func TestCohortMaturity(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, Days: 60})
	const metrics = "installs,cost,revenue_total_d7,retained_users_d1,purchase_w1_events_cohort,roas_d7"
	// Day of age.
	last := map[string]int{"revenue_total_d7": 7, "retained_users_d1": 1, "purchase_w1_events_cohort": 13, "roas_d7": 7}
	for _, zone := range []string{"", "&utc_offset=%2B13:00", "&timezone_id=America/Los_Angeles"} {
		plain := emutest.Report(t, s, "day", metrics, "date_period=-20d:-0d"+zone)
		today := plain.Rows[len(plain.Rows)-1][0]
		if immature := emutest.Report(t, s, "day", metrics,
			"date_period=-20d:-0d&cohort_maturity=immature"+zone); !slices.EqualFunc(plain.Rows, immature.Rows,
			slices.Equal) {
			t.Error("immature isn't the default")
		}
		mature := emutest.Report(t, s, "day", metrics, "date_period=-20d:-0d&cohort_maturity=mature"+zone)
		fully := emutest.Report(t, s, "day", metrics, "date_period=-20d:-0d&cohort_maturity=fully_mature"+zone)
		var old []string
		for i, r := range plain.Rows {
			age := daysBetween(t, r[0], today)
			if age > 13 {
				old = append(old, r[0])
			}
			for j, slug := range plain.Header {
				want := r[j]
				if end, ok := last[slug]; ok && age <= end {
					want = strings.Replace("0.0", ".0", map[bool]string{true: ".0",
						false: ""}[strings.Contains(r[j], ".")], 1)
				}
				if got := mature.Rows[i][j]; got != want {
					t.Errorf("mature%s: %s of %s is %s, want %s", zone, slug, r[0], got, want)
				}
			}
		}
		var got []string
		for _, r := range fully.Rows {
			got = append(got, r[0])
			if strings.Join(r, "|") != strings.Join(plain.Rows[len(got)-1], "|") {
				t.Errorf("fully mature: %q, want %q", r, plain.Rows[len(got)-1])
			}
		}
		if !slices.Equal(got, old) || len(old) == 0 {
			t.Errorf("fully mature%s: %q, want %q", zone, got, old)
		}
	}
	if a := emutest.Report(t, s, "week", "installs,retained_users_d7",
		"date_period=2026-02-22:2026-03-14&cohort_maturity=fully_mature"); len(a.Rows) != 1 {
		t.Errorf("weeks that are mature as a whole: %q", a.Rows)
	}
	if a := emutest.Report(t, s, "day", "installs", "date_period=-3d:-0d&cohort_maturity=fully_mature"); len(a.Rows) !=
		4 {
		t.Errorf("without a cohort metric nothing can be immature, but: %q", a.Rows)
	}
}

func daysBetween(t *testing.T, from, to string) int {
	t.Helper()
	a, err := time.Parse(time.DateOnly, from)
	if err != nil {
		t.Fatal(err)
	}
	b, err := time.Parse(time.DateOnly, to)
	if err != nil {
		t.Fatal(err)
	}
	return int(math.Round(b.Sub(a).Hours() / 24))
}

func TestHourBetween(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: func() time.Time { return emutest.Noon.Add(25 * time.Minute) }})
	for hours, keep := range map[string]func(age int) bool{
		"-10h:-0h": func(age int) bool { return age >= 0 && age <= 10 },
		"-3h:-3h":  func(age int) bool { return age == 3 },
		"-30h:-7h": func(age int) bool { return age >= 7 && age <= 30 },
	} {
		for _, zone := range []string{"", "&utc_offset=-05:00", "&utc_offset=%2B05:30"} {
			all := emutest.Report(t, s, "hour", "installs,cost", "date_period=-3d:-0d"+zone)
			// +05:30: labels drop the half.
			offset := map[string]time.Duration{"": 0, "&utc_offset=-05:00": -5 * time.Hour,
				"&utc_offset=%2B05:30": 5 * time.Hour}[zone]
			want := [][]string{}
			for _, r := range all.Rows {
				at, err := time.Parse("2006-01-02T15:04:05", r[0])
				if err != nil {
					t.Fatal(err)
				}
				if keep(int(emutest.Noon.Add(offset).Sub(at).Hours())) {
					want = append(want, r)
				}
			}
			got := emutest.Report(t, s, "hour", "installs,cost", "date_period=-3d:-0d&hour__between="+hours+zone)
			if !slices.EqualFunc(got.Rows, want, slices.Equal) || len(want) == 0 {
				t.Errorf("hour__between=%s%s: %q, want %q", hours, zone, got.Rows, want)
			}
		}
	}
}

func TestHourBetweenOfAComparison(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 4})
	before := emutest.Report(t, s, "hour", "installs", "date_period=2026-03-12:2026-03-12").Column(t, "installs")
	a := emutest.Report(t, s, "hour", "installs", "date_period=today&hour__between=-4h:-1h&period_over_period=-2d")
	if len(a.Rows) != 4 {
		t.Fatalf("%d hours, want 4", len(a.Rows))
	}
	for _, r := range a.Rows {
		if want := before[strings.Replace(r[0], "-14T", "-12T", 1)]; r[2] != want || want == "0" {
			t.Errorf("%s is compared with %s, want %s", r[0], r[2], want)
		}
	}
}

func TestPeriodOverPeriod(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3})
	for _, c := range []struct {
		value, from, to string
		days            int
	}{
		{"previous_day", "2026-02-28", "2026-03-06", 1},
		{"previous_week", "2026-02-22", "2026-02-28", 7},
		{"Previous_Month", "2026-02-01", "2026-02-07", 28},
		{"previous_year", "2025-03-01", "2025-03-07", 365},
		{"previous_period", "2026-02-22", "2026-02-28", 7},
		{"-30d", "2026-02-12", "2026-02-18", 17},
		{"2026-01-05", "2026-01-05", "2026-01-11", 55},
	} {
		for _, dims := range []string{"day", "network", "day,network", "month,app", "hour"} {
			const metrics = "installs,cost,ecpi,retained_users_d7,daus"
			plain := emutest.Report(t, s, dims, metrics, week)
			before := emutest.Report(t, s, dims, metrics, "date_period="+c.from+":"+c.to)
			a := emutest.Report(t, s, dims, metrics, week+"&period_over_period="+c.value)
			if want := strings.Join(plain.Header,
				",") + ",installs_pop,cost_pop,ecpi_pop,retained_users_d7_pop,daus_pop"; strings.Join(a.Header,
				",") != want {
				t.Fatalf("header %q, want %s", a.Header, want)
			}
			width := len(plain.Header)
			shown := map[string][]string{}
			for _, r := range before.Rows {
				key := r[0]
				switch {
				case strings.HasPrefix(dims, "day"):
					key = shiftLabel(t, time.DateOnly, r[0], c.days)
				case dims == "hour":
					key = shiftLabel(t, "2006-01-02T15:04:05", r[0], c.days)
				case strings.HasPrefix(dims, "month"):
					key = "2026-03" // every period is shown inside of it
				}
				shown[strings.Join(append([]string{key}, r[1:before.Dims]...), "|")] = r[before.Dims:]
			}
			met := 0
			for i, r := range a.Rows {
				if !slices.Equal(r[:width], plain.Rows[i]) {
					t.Fatalf("%s by %s: row %q, without the comparison %q", c.value, dims, r, plain.Rows[i])
				}
				want, ok := shown[strings.Join(r[:a.Dims], "|")]
				if !ok {
					want = []string{"0", "0.0", "0.0", "0", "0.0"}
				} else if dims != "month,app" || c.value != "previous_day" { // that period lies in two months
					met++
				}
				if !slices.Equal(r[width:], want) && (dims != "month,app" || c.value != "previous_day") {
					t.Errorf("%s by %s: %q, want %q", c.value, dims, r, want)
				}
			}
			if len(a.Rows) != len(plain.Rows) || met == 0 && c.value != "previous_year" &&
				(dims != "month,app" || c.value != "previous_day") {
				t.Errorf("%s by %s: %d rows, want %d; %d have a comparison", c.value, dims, len(a.Rows),
					len(plain.Rows), met)
			}
		}
	}
	head, _, _ := strings.Cut(emutest.Get(t, s, "csv_report?dimensions=day&metrics=installs&readable_names=true"+
		"&period_over_period=-1d&"+week, 200), "\n")
	if head != "Day,Installs,Installs (Comparison)" {
		t.Errorf("header %q", head)
	}
	filtered := emutest.Report(t, s, "day", "installs",
		week+"&period_over_period=previous_week&day__in=2026-03-03&network__in=organic")
	want := emutest.Report(t, s, "day", "installs", "date_period=2026-02-24:2026-02-24&network__in=organic").Rows[0][1]
	if len(filtered.Rows) != 1 || filtered.Rows[0][2] != want {
		t.Errorf("filters of a comparison: %q, want one row with %s", filtered.Rows, want)
	}
	march := emutest.Report(t, s, "year", "installs",
		"date_period=2026-03-31:2026-03-31&period_over_period=previous_month")
	if len(march.Rows) != 0 {
		t.Errorf("groups of the comparison period alone are shown: %q", march.Rows)
	}
	if got, want := report.MonthsBefore(time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC), 1),
		time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC); got != facts.DayOf(want) {
		t.Errorf("a month before March 31 is %v", facts.DayTime(got))
	}
	if got, want := report.MonthsBefore(time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), 12),
		time.Date(2023, 2, 28, 0, 0, 0, 0, time.UTC); got != facts.DayOf(want) {
		t.Errorf("a year before February 29 is %v", facts.DayTime(got))
	}
}

func shiftLabel(t *testing.T, form, label string, days int) string {
	t.Helper()
	at, err := time.Parse(form, label)
	if err != nil {
		t.Fatal(err)
	}
	return at.AddDate(0, 0, days).Format(form)
}

func TestOrderAndLimit(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 4})
	plain := emutest.Report(t, s, "day,os_name,network", "installs,ecpi", week)
	for param, less := range map[string]func(a, b []string) int{
		"sort=-installs": func(a, b []string) int { return int(emutest.Exact(t, b[3]) - emutest.Exact(t, a[3])) },
		"sort=ecpi,-day": func(a, b []string) int {
			return 2*compareFloats(emutest.Double(t, a[4]), emutest.Double(t, b[4])) - strings.Compare(a[0], b[0])
		},
		"index=network,os_name": func(a, b []string) int {
			return 2*strings.Compare(a[2],
				b[2]) + strings.Compare(a[1], b[1])
		},
		"sort=-os_name&index=network": func(a, b []string) int {
			return -2*strings.Compare(a[1],
				b[1]) + strings.Compare(a[2], b[2])
		},
		"index=day":                           func(a, b []string) int { return 0 },
		"sort=":                               func(a, b []string) int { return 0 },
		"sort=day,day,-day&format_dates=true": func(a, b []string) int { return 0 },
		"format_dates=false":                  func(a, b []string) int { return 0 },
	} {
		want := slices.Clone(plain.Rows)
		slices.SortStableFunc(want, less)
		got := emutest.Report(t, s, "day,os_name,network", "installs,ecpi", week+"&"+param)
		if !slices.EqualFunc(got.Rows, want, slices.Equal) {
			t.Errorf("%s: not in order: begins with %q, want %q", param, got.Rows[:3], want[:3])
		}
		for _, n := range []int{1, 3, len(want), len(want) + 1} {
			got := emutest.Report(t, s, "day,os_name,network", "installs,ecpi",
				fmt.Sprintf("%s&%s&limit=%d", week, param, n))
			if !slices.EqualFunc(got.Rows, want[:min(n, len(want))], slices.Equal) {
				t.Errorf("%s&limit=%d: %d rows, or in another order", param, n, len(got.Rows))
			}
		}
	}
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
