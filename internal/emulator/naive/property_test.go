package naive

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/report"
)

// The checks below know formulas as the service's glossary words them, not as this package's tables
// do.

// quotients are ratio metrics as numerator over denominator; "a+b" is a sum, "a-b" a difference.
var quotients = []struct {
	slug, over, under string
	times             float64
}{
	{"organic_install_rate", "organic_installs", "installs", 1},
	{"ctr", "clicks", "impressions", 1},
	{"click_conversion_rate", "installs", "clicks", 1},
	{"impression_conversion_rate", "installs", "impressions", 1},
	{"limit_ad_tracking_install_rate", "limit_ad_tracking_installs", "installs", 1},
	{"att_consent_rate", "att_status_authorized", "att_status_denied+att_status_authorized", 1},
	{"ecpi", "cost", "paid_installs", 1},
	{"ecpi_all", "cost", "installs", 1},
	{"ecpc", "cost", "paid_clicks", 1},
	{"ecpm", "cost", "paid_impressions", 1000},
	{"network_ecpi", "network_cost", "network_installs", 1},
	{"ecpi_network", "network_cost", "network_installs", 1},
	{"network_ecpm", "network_cost", "network_impressions", 1000},
	{"network_ecpc", "network_cost", "network_clicks", 1},
	{"network_ctr", "network_clicks", "network_impressions", 1},
	{"ad_rpm", "ad_revenue", "ad_impressions", 1000},
	{"arpdau_iap", "revenue", "daus", 1},
	{"roas_iap", "cohort_revenue", "cost", 1},
	{"roas_ad", "cohort_ad_revenue", "cost", 1},
	{"roas", "cohort_all_revenue", "cost", 1},
	{"return_on_investment", "cohort_gross_profit", "cost", 1},
	{"roas_d7", "all_revenue_total_d7", "cost", 1},
	{"roas_iap_d7", "revenue_total_d7", "cost", 1},
	{"roas_ad_m1", "ad_revenue_total_m1", "cost", 1},
	{"retention_rate_d1", "retained_users_d1", "cohort_size_d1", 1},
	{"retention_rate_w1", "retained_users_w1", "cohort_size_w1", 1},
	{"sessions_per_user_d3", "sessions_d3", "cohort_size_d3", 1},
	{"lifetime_value_d7", "all_revenue_total_in_cohort_d7", "cohort_size_d7", 1},
	{"lifetime_value_iap_d2", "revenue_total_in_cohort_d2", "cohort_size_d2", 1},
	{"paying_user_rate_d0", "paying_users_d0", "cohort_size_d0", 1},
	{"paying_users_retention_rate_d6", "paying_users_d6", "retained_users_d6", 1},
	{"cost_per_paying_user_d30", "cost", "first_paying_users_total_d30", 1},
	{"purchase_events_cost_noncohorted", "cost", "purchase_events", 1},
	{"purchase_d7_events_cost_cohort", "cost", "purchase_d7_events_cohort", 1},
	{"purchase_d7_events_rate_cohort", "purchase_d7_events_cohort", "cohort_size_d7", 1},
	{"purchase_d7_conversions_rate_cohort", "purchase_d7_conversions_cohort", "cohort_size_d7", 1},
	{"purchase_d7_events_per_conversion_cohort", "purchase_d7_events_cohort", "purchase_d7_conversions_cohort", 1},
	{"purchase_d7_revenue_per_conversion_cohort", "purchase_d7_revenue_cohort", "purchase_d7_conversions_cohort", 1},
	{"purchase_d7_conversion_distribution_cohort", "purchase_d7_conversions_cohort",
		"purchase_d7_converted_user_size_cohort", 1},
	{"purchase_d7_events_per_reattribution_cohort", "purchase_d7_events_cohort", "reattributions", 1},
	{"trial_d7_events_cost_noncohorted", "cost", "trial_d7_events", 1},
	{"skan_purchase_skad_event_conversion_rate", "skan_purchase_events_est", "skad_total_installs", 1},
}

func operands(e string) []string { return strings.FieldsFunc(e, func(c rune) bool { return c == '+' }) }

func drawDims(rt *rapid.T) string {
	n := len(metrics.Dimensions)
	picks := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, 5, rapid.ID[int]).Draw(rt, "dimensions")
	var out []string
	for _, p := range picks {
		out = append(out, metrics.Dimensions[p].Slug)
	}
	return strings.Join(out, ",")
}

// drawMore draws the period and the modes that bear on money.
func drawMore(rt *rapid.T) string {
	from := rapid.IntRange(0, 25).Draw(rt, "from")
	to := rapid.IntRange(max(0, from-2), from).Draw(rt, "to")
	return fmt.Sprintf("date_period=-%dd:-%dd&ad_spend_mode=%s&currency=%s&utc_offset=%s", from, to,
		rapid.SampledFrom([]string{"adjust", "network", "mixed"}).Draw(rt, "ad_spend_mode"),
		rapid.SampledFrom([]string{"USD", "EUR", "JPY", "IDR", "KWD"}).Draw(rt, "currency"),
		rapid.SampledFrom([]string{"%2B00:00", "-07:00", "%2B05:30"}).Draw(rt, "utc_offset"))
}

func TestRatiosRecomputeFromTheAnswersOwnSums(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, Days: 30})
	nonzero := 0
	rapid.Check(t, func(rt *rapid.T) {
		dims, more := drawDims(rt), drawMore(rt)
		q := rapid.SampledFrom(quotients).Draw(rt, "metric")
		metrics := strings.Join(slices.Concat([]string{q.slug}, operands(q.over), operands(q.under)), ",")
		a := emutest.Report(t, s, dims, metrics, more)
		columns := map[string]map[string]string{}
		for _, slug := range strings.Split(metrics, ",") {
			columns[slug] = a.Column(t, slug)
		}
		sum := func(e, key string) float64 {
			total := 0.0
			for _, slug := range operands(e) {
				total += emutest.Double(t, columns[slug][key])
			}
			return total
		}
		for key, cell := range columns[q.slug] {
			want := 0.0
			if under := sum(q.under, key); under != 0 {
				want = sum(q.over, key) / under * q.times
			}
			if want != 0 {
				nonzero++
			}
			if emutest.Double(t, cell) != want {
				rt.Fatalf("%s of %q is %s, its parts give %v", q.slug, key, cell, want)
			}
		}
	})
	if nonzero < 50 {
		t.Errorf("only %d of the ratios weren't 0: the test shows little", nonzero)
	}
}

// cumulative are the families that only grow with age; {p} is the period.
var cumulative = []string{"revenue_total_{p}", "ad_revenue_total_{p}", "all_revenue_total_{p}",
	"ad_impressions_total_{p}",
	"revenue_events_total_{p}", "uninstalls_total_{p}", "first_uninstalls_total_{p}", "reinstalls_total_{p}",
	"first_reinstalls_total_{p}", "gdpr_forgets_total_{p}", "first_paying_users_total_{p}",
	"purchase_{p}_events_cohort",
	"purchase_{p}_revenue_cohort", "level_complete_{p}_conversions_cohort"}

func TestCumulativeCohortValuesNeverFallWithAge(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 30})
	rapid.Check(t, func(rt *rapid.T) {
		dims, more := drawDims(rt), strings.Replace(drawMore(rt), "ad_spend_mode=network", "ad_spend_mode=adjust", 1)
		family := rapid.SampledFrom(cumulative).Draw(rt, "family")
		unit := rapid.SampledFrom([]string{"d", "w", "m"}).Draw(rt, "unit")
		ages := rapid.SliceOfNDistinct(rapid.IntRange(0, 36), 2, 5, rapid.ID[int]).Draw(rt, "ages")
		slices.Sort(ages)
		var metrics []string
		for _, n := range ages {
			metrics = append(metrics, strings.Replace(family, "{p}", fmt.Sprintf("%s%d", unit, n), 1))
		}
		today := facts.DayOf(emutest.Noon)
		p, err := report.ParsePeriod(strings.TrimPrefix(strings.Split(more, "&")[0], "date_period="), today)
		if err != nil {
			rt.Fatal(err)
		}
		more += fmt.Sprintf("&date_period=%s:%s", facts.DayTime(p.From).Format(time.DateOnly),
			facts.DayTime(p.To).Format(time.DateOnly))
		more = more[strings.Index(more, "&")+1:] // absolute, so that the clock may move
		before := emutest.Report(t, s, dims, strings.Join(metrics, ","), more)
		for i, m := range metrics {
			if i == 0 {
				continue
			}
			younger, older := before.Column(t, metrics[i-1]), before.Column(t, m)
			for key, cell := range younger {
				if emutest.Exact(t, older[key]) < emutest.Exact(t, cell) {
					rt.Fatalf("%q: %s is %s, but %s is %s", key, metrics[i-1], cell, m, older[key])
				}
			}
		}
		shift := time.Duration(rapid.IntRange(1, 40).Draw(rt, "later")) * 24 * time.Hour
		s.Shift(shift)
		defer s.Shift(-shift)
		after := emutest.Report(t, s, dims, strings.Join(metrics, ","), more)
		for _, m := range metrics {
			later := after.Column(t, m)
			for key, cell := range before.Column(t, m) {
				if emutest.Exact(t, later[key]) < emutest.Exact(t, cell) {
					rt.Fatalf("%q: %s was %s and is %s %v later", key, m, cell, later[key], shift)
				}
			}
		}
	})
}

func TestCohortsGrow(t *testing.T) { // the property above holds of constants, too
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2})
	for _, family := range cumulative {
		young, old := strings.Replace(family, "{p}", "d0", 1), strings.Replace(family, "{p}", "d30", 1)
		a := emutest.Report(t, s, "app", young+","+old, "date_period=-45d:-40d")
		if y, o := a.Sum(t, young), a.Sum(t, old); o <= y {
			t.Errorf("%s sums to %d, %s to %d", young, y, old, o)
		}
	}
	young := emutest.Report(t, s, "app", "revenue_total_d30", "date_period=2026-03-13:2026-03-13").Sum(t,
		"revenue_total_d30")
	s.Shift(10 * 24 * time.Hour)
	old := emutest.Report(t, s, "app", "revenue_total_d30", "date_period=2026-03-13:2026-03-13").Sum(t,
		"revenue_total_d30")
	if old <= young {
		t.Errorf("a cohort of yesterday has %d, ten days later %d", young, old)
	}
}

func TestPeriodsAddUpToTotals(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 40})
	for _, family := range []string{"revenue%s", "ad_revenue%s", "uninstalls%s", "first_paying_users%s"} {
		metrics := []string{fmt.Sprintf(family, "_total_d6")}
		for n := range 7 {
			metrics = append(metrics, fmt.Sprintf(family, fmt.Sprintf("_d%d", n)))
		}
		metrics = append(metrics, fmt.Sprintf(family, "_w0"))
		a := emutest.Report(t, s, "day,campaign,os_name", strings.Join(metrics, ","),
			"date_period=-9d:-0d&currency=EUR")
		for _, row := range a.Rows {
			cells := row[a.Dims:]
			var sum int64
			for _, c := range cells[1:8] {
				sum += emutest.Exact(t, c)
			}
			if want := emutest.Exact(t, cells[0]); sum != want || emutest.Exact(t, cells[8]) != want {
				t.Fatalf("%q: d0..d6 add up to %d, the total is %d, w0 is %s", row[:a.Dims], sum, want, cells[8])
			}
		}
	}
}

func TestEveryGroupingAddsUpToTheSame(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 14})
	const metrics = "installs,sessions,cost,network_cost,all_revenue,revenue_total_d7,purchase_events," +
		"purchase_revenue,retained_users_d1"
	want := emutest.Report(t, s, "month", metrics, "date_period=-3d:-1d&currency=EUR")
	rapid.Check(t, func(rt *rapid.T) {
		a := emutest.Report(t, s, drawDims(rt), metrics, "date_period=-3d:-1d&currency=EUR")
		for _, m := range operands(strings.ReplaceAll(metrics, ",", "+")) {
			if got, all := a.Sum(t, m), want.Sum(t, m); got != all || all == 0 {
				rt.Fatalf("%s adds up to %d, as a whole it is %d", m, got, all)
			}
		}
	})
}

func TestVerifiedOutcomesAddUp(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, Days: 20})
	a := emutest.Report(t, s, "day,campaign",
		"purchase_events,purchase_events_verified_passed,purchase_events_verified_failed,"+
			"purchase_events_verified_unknown,purchase_events_not_verified", "date_period=-5d:-0d")
	for _, row := range a.Rows {
		var sum int64
		for _, c := range row[3:] {
			if n := emutest.Exact(t, c); n < 0 {
				t.Fatalf("%q", row)
			} else {
				sum += n
			}
		}
		if sum != emutest.Exact(t, row[2]) {
			t.Fatalf("%q", row)
		}
	}
}

func TestZonesMoveHoursBetweenDays(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 20})
	byHour := emutest.Report(t, s, "hour", "installs,cost", "date_period=2026-03-01:2026-03-10").Column(t, "installs")
	for _, zone := range []struct {
		param  string
		offset time.Duration
	}{{"%2B05:00", 5 * time.Hour}, {"-09:30", -9*time.Hour - 30*time.Minute}, {"%2B14:00", 14 * time.Hour}} {
		want := map[string]int64{}
		for h, n := range byHour {
			at, err := time.Parse("2006-01-02T15:04:05", h)
			if err != nil {
				t.Fatal(err)
			}
			want[at.Add(zone.offset).Format(time.DateOnly)] += emutest.Exact(t, n)
		}
		got := emutest.Report(t, s, "day", "installs", "date_period=2026-03-03:2026-03-08&utc_offset="+zone.param)
		if len(got.Rows) != 6 {
			t.Fatalf("%d days, want 6", len(got.Rows))
		}
		for day, n := range got.Column(t, "installs") {
			if emutest.Exact(t, n) != want[day] || want[day] == 0 {
				t.Errorf("%s at %s: %s installs, the hours give %d", day, zone.param, n, want[day]/facts.Million)
			}
		}
	}
}
