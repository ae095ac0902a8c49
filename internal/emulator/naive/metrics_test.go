package naive

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
)

// Six weeks, some days of which are younger than any cohort period, by groups large and small.
const (
	sixWeeks  = "date_period=-40d:-0d"
	byNetwork = "os_name,network"
)

// glossaryLine is a metric as the service's glossary has it, with {p} and {e} filled in.
type glossaryLine struct{ slug, label, kind, formula string }

// glossary gives every line of the glossary.
func glossaryLines(period, event, eventName string) []glossaryLine {
	fill := strings.NewReplacer("{p}", period, "{P}", period[1:]+strings.ToUpper(period[:1]), "{e}", event, "{E}",
		eventName,
		"general revenue_", "general_revenue_")
	var out []glossaryLine
	naiveFormulas(func(slug, label, kind, formula string) {
		out = append(out, glossaryLine{fill.Replace(slug), fill.Replace(label), kind, fill.Replace(formula)})
	})
	return out
}

func TestNamesAndKindsAreTheGlossarys(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Days: 1})
	glossary := emutest.GlossaryOf(s)
	lines := glossaryLines("w2", "purchase", "Purchase")
	for _, l := range lines {
		c, bad := glossary.Find(l.slug)
		if bad != nil {
			t.Errorf("%s: %v", l.slug, bad)
			continue
		}
		kinds := map[metrics.Kind]string{metrics.Count: "count", metrics.Money: "money", metrics.Ratio: "ratio",
			metrics.Decimal: "decimal", metrics.Seconds: "seconds", metrics.Precise: "money4"}
		if l.label != "" && c.Label() != l.label || kinds[c.Def.Kind] != l.kind || c.Def.Section == "" {
			t.Errorf("%s is %q, a %s of section %q; the glossary says %q, %s", l.slug, c.Label(), kinds[c.Def.Kind],
				c.Def.Section, l.label, l.kind)
		}
	}
	if len(lines) < 800 {
		t.Errorf("the glossary has only %d lines", len(lines))
	}
}

// TestFormulasOfTheGlossary recomputes every metric that has a formula from the other columns of
// the same answer.
func TestFormulasOfTheGlossary(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 4, Days: 20})
	glossary := emutest.GlossaryOf(s)
	checked := map[string]bool{}
	for _, fill := range [][4]string{ // the last is a part of the slugs to look at
		{"d3", "purchase", "Purchase", ""},
		{"w1", "skan_purchase", "SKAN Purchase", "skan_purchase"},
		{"d0", "purchase", "Purchase", "_per_"}, // only there installs are sessions
	} {
		underived := func(l glossaryLine) bool { // done, or it rests on facts, or on what can't be asked for
			return checked[l.slug] || !strings.Contains(l.slug, fill[3]) || l.formula == "" ||
				strings.HasPrefix(l.formula, "=") || slices.ContainsFunc(idents(l.formula), func(slug string) bool {
				_, bad := glossary.Find(slug)
				return bad != nil
			})
		}
		for chunk := range slices.Chunk(slices.DeleteFunc(glossaryLines(fill[0], fill[1], fill[2]), underived), 24) {
			var metrics []string
			for _, l := range chunk {
				metrics = append(metrics, l.slug)
				metrics = append(metrics, idents(l.formula)...)
			}
			a := emutest.Report(t, s, byNetwork, strings.Join(metrics, ","),
				"date_period=-19d:-0d&ad_spend_mode=mixed&currency=EUR")
			for _, l := range chunk {
				// Four apps don't use every source.
				if recompute(t, a, l) == 0 && !strings.HasPrefix(l.slug, "ad_rpm_") {
					t.Errorf("%s is 0 everywhere", l.slug)
				}
				checked[l.slug] = true
			}
		}
	}
	if len(checked) < 500 {
		t.Errorf("only %d formulas were looked at", len(checked))
	}
}

// recompute compares a metric's cells with its formula over the answer's other cells; it says how
// many aren't 0.
func recompute(t *testing.T, a emutest.Answer, l glossaryLine) (nonzero int) {
	t.Helper()
	e, err := parser.ParseExpr(l.formula)
	if err != nil {
		t.Fatalf("%s: %v", l.formula, err)
	}
	for _, row := range a.Rows {
		want := arithmetic(t, e, func(slug string) float64 {
			return emutest.Double(t,
				row[slices.Index(a.Header, slug)])
		})
		if l.kind == "seconds" {
			want = math.Floor(want)
		}
		got := emutest.Double(t, row[slices.Index(a.Header, l.slug)])
		if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
			t.Errorf("%s of %q is %v; %s gives %v", l.slug, row[:a.Dims], got, l.formula, want)
		}
		if got != 0 {
			nonzero++
		}
	}
	return nonzero
}

func arithmetic(t *testing.T, e ast.Expr, cell func(string) float64) float64 {
	t.Helper()
	quotient := func(x, y float64) float64 {
		if y == 0 {
			return 0
		}
		return x / y
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return arithmetic(t, e.X, cell)
	case *ast.Ident:
		return cell(e.Name)
	case *ast.BasicLit:
		return emutest.Double(t, e.Value)
	case *ast.BinaryExpr:
		x, y := arithmetic(t, e.X, cell), arithmetic(t, e.Y, cell)
		switch e.Op {
		case token.ADD:
			return x + y
		case token.SUB:
			return x - y
		case token.MUL:
			return x * y
		case token.QUO:
			return quotient(x, y)
		}
	case *ast.CallExpr:
		if len(e.Args) == 2 { // div
			return quotient(arithmetic(t, e.Args[0], cell), arithmetic(t, e.Args[1], cell))
		}
		return math.Abs(arithmetic(t, e.Args[0], cell))
	}
	t.Fatalf("a formula holds a %T", e)
	return 0
}

func idents(formula string) (out []string) {
	for _, word := range strings.FieldsFunc(formula, func(c rune) bool { return strings.ContainsRune("+-*/(), ", c) }) {
		if _, err := strconv.Atoi(word); err != nil && word != "abs" && word != "div" {
			out = append(out, word)
		}
	}
	return out
}

// partsOf are metrics that are the exact sum of others; a whole "x+y" is the sum of x and y.
func partsOf() map[string][]string {
	numbered := func(pattern string, from, to int) (out []string) {
		for n := from; n <= to; n++ {
			out = append(out, fmt.Sprintf(pattern, n))
		}
		return out
	}
	each := func(pattern string, words ...string) (out []string) {
		for _, w := range words {
			out = append(out, fmt.Sprintf(pattern, w))
		}
		return out
	}
	sources := sourceSlugs()
	kinds := []string{"activation", "discounted_offer", "reactivation", "refund", "renewal",
		"renewal_from_billing_retry", "unknown"}
	return map[string][]string{
		"rejected_installs": each("rejected_installs_%s", "anon_ip", "too_many_engagements", "distribution_outlier",
			"click_injection",
			"invalid_signature", "malformed_advertising_id"),
		"rejected_reattributions": each("rejected_reattributions_%s", "anon_ip", "too_many_engagements",
			"distribution_outlier", "click_injection"),
		"valid_conversions":             numbered("conversion_value_%d", 0, 63),
		"skad_valid_conversions":        numbered("skad_conversion_value_%d", 0, 63),
		"skad_direct_valid_conversions": numbered("skad_direct_conversion_value_%d", 0, 63),
		"skad_conversion_bits":          numbered("conversion_%d", 1, 6),
		"skad_installs": each("skad_coarse_conversion_values_%s_0", "null", "none", "low", "medium",
			"high"),
		"skad_total_installs": {"skad_conversion_value_null", "skad_conversion_value_gt_0",
			"conversion_value_0"},
		"network_cost":        each("network_ad_spend_%s", "skan", "non_skan", "unknown"),
		"network_installs":    each("network_installs_%s", "skan", "non_skan", "unknown"),
		"network_clicks":      each("network_clicks_%s", "skan", "non_skan", "unknown"),
		"network_impressions": each("network_impressions_%s", "skan", "non_skan", "unknown"),
		"ad_revenue":          each("ad_revenue_%s", sources...),
		"ad_revenue_d2":       each("ad_revenue_%s_d2", sources...),
		"cohort_ad_revenue":   each("cohort_ad_revenue_%s", sources...),
		"ad_impressions":      each("ad_impressions_%s", sources...),
		"ad_impressions_w1":   each("ad_impressions_%s_w1", sources...),
		"installs":            {"organic_installs", "non_organic_installs"},
		"purchase_events": append(each("purchase_events_verified_%s", "passed", "failed", "unknown"),
			"purchase_events_not_verified"),
		"purchase_revenue": append(each("purchase_revenue_verified_%s", "passed", "failed", "unknown"),
			"purchase_revenue_not_verified"),
		"subscrevnt_revenue":            each("subscrevnt_%s_revenue", kinds...),
		"subscription_revenue":          each("subscrevnt_%s_revenue", kinds...),
		"subscription_revenue_d5":       each("subscription_%s_revenue_d5", kinds...),
		"subscription_revenue_total_m0": each("subscription_%s_revenue_total_m0", kinds...),
		"skan_total_revenue_min":        {"iap_revenue_revenue_min", "skad_ad_revenue_min"},
		"qualifiers":                    {"click_based_qualifiers", "impression_based_qualifiers"},
	}
}

func TestPartsAddUp(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 4, Days: 45})
	for whole, parts := range partsOf() {
		a := emutest.Report(t, s, byNetwork+",day", whole+","+strings.Join(parts, ","),
			sixWeeks+"&currency=JPY&ad_spend_mode=network")
		seen := make([]bool, len(parts))
		for _, row := range a.Rows {
			var sum int64
			for i, cell := range row[a.Dims+1:] {
				n := emutest.Exact(t, cell)
				if n < 0 && !strings.Contains(parts[i], "_refund_") {
					t.Errorf("%s is %s", parts[i], cell)
				}
				seen[i] = seen[i] || n != 0
				sum += n
			}
			if want := emutest.Exact(t, row[a.Dims]); sum != want {
				t.Fatalf("%s of %q is %d, its parts add up to %d", whole, row[:a.Dims], want, sum)
			}
		}
		for i, part := range parts {
			// An account of four apps doesn't use every source.
			if !seen[i] && !strings.HasPrefix(part, "ad_") && !strings.HasPrefix(part, "cohort_ad_") {
				t.Errorf("%s is 0 everywhere", part)
			}
		}
	}
}

func TestTrackingAnswersAddUpToInstallsOnIOS(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, Days: 30})
	a := emutest.Report(t, s, "os_name,day",
		"installs,att_status_authorized,att_status_denied,att_status_non_determined,att_status_restricted",
		"date_period=-29d:-1d")
	ios := 0
	for _, row := range a.Rows {
		want := int64(0)
		if row[0] == "ios" {
			want = emutest.Exact(t, row[2])
			ios++
		}
		if sum := emutest.Exact(t, row[3]) + emutest.Exact(t, row[4]) + emutest.Exact(t, row[5]) + emutest.Exact(t,
			row[6]); sum != want {
			t.Errorf("%q: the answers add up to %d, want %d", row, sum, want)
		}
	}
	if ios < 20 || a.Sum(t, "att_status_restricted") == 0 {
		t.Errorf("%d days on iOS, %d restricted", ios, a.Sum(t, "att_status_restricted"))
	}
}

func TestConversionBitsAndTotals(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, Days: 45})
	for _, prefix := range []string{"", "skad_", "skad_direct_"} {
		var metrics []string
		for v := range 64 {
			metrics = append(metrics, fmt.Sprintf("%sconversion_value_%d", prefix, v))
		}
		for b := range 6 {
			metrics = append(metrics, fmt.Sprintf("%sconversion_%d", prefix, b+1))
		}
		a := emutest.Report(t, s, byNetwork, strings.Join(append(metrics, prefix+"conversion_value_total"), ","),
			sixWeeks)
		for _, row := range a.Rows {
			var bits [6]int64
			var total int64
			for v, cell := range row[a.Dims : a.Dims+64] {
				n := emutest.Exact(t, cell)
				total += n * int64(v)
				for b := range bits {
					bits[b] += n * int64(v>>b&1)
				}
			}
			for b, n := range bits {
				if got := emutest.Exact(t, row[a.Dims+64+b]); got != n {
					t.Errorf("%sconversion_%d of %q is %d, the values give %d", prefix, b+1, row[:a.Dims], got, n)
				}
			}
			if got := emutest.Exact(t, row[a.Dims+70]); got != total {
				t.Errorf("%sconversion_value_total of %q is %d, the values give %d", prefix, row[:a.Dims], got, total)
			}
		}
	}
}

// TestOrderOfMetrics checks what can't exceed what, by rows of a single day and campaign.
func TestOrderOfMetrics(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 3, Days: 45})
	for _, chain := range []string{
		"general_revenue_events_min<general_revenue_events_est<general_revenue_events_max",
		"iap_revenue_revenue_min<iap_revenue_revenue_est<iap_revenue_revenue_max",
		"skad_ad_revenue_min<skad_ad_revenue_est<skad_ad_revenue_max", "revenue_min<revenue_est<revenue_max",
		"skan_purchase_events_min<skan_purchase_events_est<skan_purchase_events_max",
		"skan_purchase_revenue_min<skan_purchase_revenue_est<skan_purchase_revenue_max",
		"skan_total_rpu_min<skan_total_rpu_est<skan_total_rpu_max",
		"skan_purchase_skan_event_ecr_min<skan_purchase_skan_event_ecr_est<skan_purchase_skan_event_ecr_max",
		"first_reinstalls<reinstalls", "first_uninstalls<uninstalls", "first_uninstalls_d7<uninstalls_total_d7",
		"limit_ad_tracking_reattributions<reattributions", "reattribution_reinstalls<reattributions",
		"assisted_installs<non_organic_installs", "assisted_installs<click_based_qualifiers",
		"creative_assisted_installs<assisted_installs",
		"skad_direct_valid_conversions<skad_direct_installs<skad_installs<installs", "valid_conversions<skad_installs",
		"aar_clicks<aar_impressions<aar_requests", "incremental_revenue<revenue",
		"subscription_renewal_events_d3<subscription_renewal_events_total_d3<subscription_renewal_events_total_m1",
		"paying_users_d1<retained_users_d1<cohort_size_d1<installs",
	} {
		slugs := strings.Split(chain, "<")
		a := emutest.Report(t, s, "day,campaign,country_code,os_name", strings.Join(slugs, ","),
			sixWeeks+"&iap_revenue_mode=GROSS_100&currency=KWD")
		if len(a.Rows) < 100 {
			t.Fatalf("only %d rows", len(a.Rows))
		}
		less := make([]int, len(slugs))
		for _, row := range a.Rows {
			for i := a.Dims + 1; i < len(row); i++ {
				x, y := emutest.Double(t, row[i-1]), emutest.Double(t, row[i])
				if x > y {
					t.Fatalf("%s: %q", chain, row)
				}
				if x < y {
					less[i-a.Dims]++
				}
			}
		}
		if slices.Contains(less[1:], 0) {
			t.Errorf("%s: two of them are always the same", chain)
		}
	}
}

// sameByIntent are metrics that repeat others.
var sameByIntent = map[string]string{
	"attribution_clicks": "clicks", "attribution_impressions": "impressions",
	"base_assisted_installs": "assisted_installs",
	"aar_impressions":        "ad_impressions", "aar_revenue": "ad_revenue",
}

func TestMetricsDiffer(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Days: 13})
	columns := map[string]string{} // cells to slug
	for chunk := range slices.Chunk(metrics.NewGlossary(nil).All(), 50) {
		var metrics []string
		for _, d := range chunk {
			if d.Row != "" && d.Label != "" {
				metrics = append(metrics, strings.NewReplacer("{p}", "d2", "{e}", "purchase").Replace(d.Slug))
			}
		}
		if len(metrics) == 0 {
			continue
		}
		a := emutest.Report(t, s, byNetwork, strings.Join(metrics, ","), "date_period=-12d:-0d")
		for i, slug := range metrics {
			var cells []string
			zeros := true
			for _, row := range a.Rows {
				cells = append(cells, row[a.Dims+i])
				zeros = zeros && emutest.Double(t, row[a.Dims+i]) == 0
			}
			key := strings.Join(cells, " ")
			switch other, seen := columns[key]; {
			case zeros:
				t.Errorf("%s is 0 everywhere", slug)
			case seen && sameByIntent[slug] != other && sameByIntent[other] != slug &&
				!slices.Contains([]string{slug, other}, "purchase_d2_converted_user_size_per_period"):
				t.Errorf("%s and %s are the same", slug, other)
			}
			columns[key] = slug
		}
	}
}

func TestMovingAverages(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 10})
	for _, m := range []string{"installs", "cost", "roas_d1", "purchase_events", "purchase_d1_revenue_cohort",
		"time_spent_per_user_d0", "network_cost_diff"} {
		a := emutest.Report(t, s, "day",
			fmt.Sprintf("%s,mavg_7_%[1]s,mavg_upper_7_95_%[1]s,mavg_lower_7_95_%[1]s,mavg_margin_of_error_7_95_%[1]s",
				m), "date_period=-5d:-1d")
		for _, row := range a.Rows {
			want := row[1]
			if !strings.Contains(want, ".") {
				want += ".0" // decimals, always
			}
			if row[2] != want || row[3] != want || row[4] != want || row[5] != "0.0" || emutest.Double(t, want) == 0 {
				t.Errorf("%s: %q", m, row)
			}
		}
	}
}

func TestUnknownMetricsAreTold(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 1})
	for slug, want := range map[string]string{
		"moons":       "Unsupported metric: moons",
		"iap_revenue": "iap_revenue: event doesn't exist or was renamed",
		// there is no event called iap
		"conversion_value_64":                       "Unsupported metric: conversion_value_64",
		"conversion_7":                              "Unsupported metric: conversion_7",
		"conversion_value_07":                       "Unsupported metric: conversion_value_07",
		"skad_coarse_conversion_values_low_3":       "Unsupported metric: skad_coarse_conversion_values_low_3",
		"ad_revenue_nobody_d7":                      "Unsupported metric: ad_revenue_nobody_d7",
		"retention_rate":                            "Unsupported metric: retention_rate",
		"retention_rate_7d":                         "Unsupported metric: retention_rate_7d",
		"retention_rate_w53":                        "Unsupported metric: retention_rate_w53",
		"retention_rate_{p}":                        "Unsupported metric: retention_rate_{p}",
		"install_sessions_d0":                       "Unsupported metric: install_sessions_d0",
		"active_days":                               "Unsupported metric: active_days",
		"mavg_installs":                             "Unsupported metric: mavg_installs",
		"mavg_upper_7_installs":                     "Unsupported metric: mavg_upper_7_installs",
		"mavg_7_mavg_7_installs":                    "Unsupported metric: mavg_7_mavg_7_installs",
		"mavg_7_moons":                              "Unsupported metric: moons",
		"subscription_moon_to_renewal_rate_d1":      "Unsupported metric: subscription_moon_to_renewal_rate_d1",
		"gone_events":                               "gone_events: event doesn't exist or was renamed",
		"gone_d7_revenue_cohort":                    "gone_d7_revenue_cohort: event doesn't exist or was renamed",
		"gone_skan_event_ecr_min":                   "gone_skan_event_ecr_min: event doesn't exist or was renamed",
		"mavg_7_gone_revenue":                       "gone_revenue: event doesn't exist or was renamed",
		"purchase_d121_events_cohort":               "Unsupported metric: purchase_d121_events_cohort",
		"subscription_renewal_to_renewal_rate_d400": "Unsupported metric: subscription_renewal_to_renewal_rate_d400",
	} {
		w := emutest.Ask(s, "csv_report?dimensions=day&date_period=today&metrics=installs,"+slug)
		if w.Code < 400 {
			t.Errorf("%s: %d", slug, w.Code)
			continue
		}
		if _, text := emutest.Desc(t, w.Body); w.Code != 400 || text != want {
			t.Errorf("%s: %d %q, want %q", slug, w.Code, text, want)
		}
	}
}

// TestFamiliesThatTheGlossaryOnlyNames: their ranges, labels and sections are in its text.
func TestFamiliesThatTheGlossaryOnlyNames(t *testing.T) {
	t.Parallel()
	s := emutest.Open(t, emulator.Options{Now: emutest.AtNoon, Apps: 1, Days: 1})
	glossary := emutest.GlossaryOf(s)
	for _, c := range []struct {
		slug, label, section string
		kind                 metrics.Kind
		hidden               bool
	}{
		{"conversion_value_7", "Conversion Value 7 (SKAdNetwork)", "Conversion Values", metrics.Count, false},
		{"conversion_1", "Conversion Bit 1 (SKAdNetwork)", "6 Conversion Events (6 Bit)", metrics.Count, false},
		{"skad_conversion_value_63", "Conversion Value 63 (SKAdNetwork)", "Conversion Values", metrics.Count, true},
		{"skad_conversion_6", "Conversion Bit 6 (SKAdNetwork)", "6 Conversion Events (6 Bit)", metrics.Count, true},
		{"skad_direct_conversion_value_0", "Direct Conversion Value 0 (SKAdNetwork)", "Direct Conversion Values",
			metrics.Count, false},
		{"skad_direct_conversion_6", "Direct Conversion Bit 6 (SKAdNetwork)", "6 Direct Conversion Events (6 Bit)",
			metrics.Count, false},
		{"skad_coarse_conversion_values_low_1", "Coarse conversion value low (2nd Postback)",
			"Coarse Conversion Values", metrics.Decimal, false},
		{"ad_revenue_unity_sdk", "Ad Revenue (Unity SDK)", "Revenue", metrics.Money, false},
		{"ad_impressions_admob_m1", "1M Ad Impressions (AdMob)", "Revenue", metrics.Count, false},
		{"subscrevnt_renewal_from_billing_retry_events", "Subscription Renewal From Billing Retry Events", "Events",
			metrics.Count, false},
		{"subscription_refund_revenue_total_w2", "2W Subscription Refund Revenue Total", "Revenue", metrics.Money,
			false},
		{"subscription_trial_started_to_renewal_rate_d7", "7D Subscription Trial Started to Renewal Rate", "Revenue",
			metrics.Ratio, false},
		{"mavg_7_daus", "Moving Average of Avg. DAUs (7)", "Conversion", metrics.Decimal, false},
		{"mavg_upper_7_95_purchase_events", "Moving Average of Purchase (7), upper 95%", "Events", metrics.Decimal,
			false},
	} {
		got, bad := glossary.Find(c.slug)
		if bad != nil {
			t.Errorf("%s: %v", c.slug, bad)
		} else if d := got.Def; got.Label() != c.label || d.Section != c.section || d.Kind != c.kind ||
			d.Hidden != c.hidden {
			t.Errorf("%s is %q of %q, kind %d, hidden %v; want %+v", c.slug, got.Label(), d.Section, d.Kind, d.Hidden,
				c)
		}
	}
}
