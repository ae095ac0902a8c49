package metrics

import (
	"fmt"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/facts"
)

// SKAdNetwork's numbers: iOS only, and never organic. Valid conversions are postbacks with a
// conversion value.
var (
	skadInstalls      = onIOS("(1-d.organic)*" + share("f.installs", 700_000, 59))
	validConversions  = share(skadInstalls, 690_000, 53)
	directInstalls    = share(skadInstalls, 560_000, 317)
	directConversions = share(directInstalls, 740_000, 347)
)

// skanMetrics count installs and conversion values of SKAdNetwork.
var skanMetrics = []Metric{
	{Slug: "skad_conversion_values", Label: "Conversion Value", Section: "Conversion Values", Hidden: true,
		Formula: "valid_conversions"},
	{Slug: "skad_conversion_bits", Label: "Conversion Bit", Section: "Conversion Values", Hidden: true,
		Formula: "conversion_1+conversion_2+conversion_3+conversion_4+conversion_5+conversion_6"},
	{Slug: "skad_total_installs", Label: "Total installs (SKAd)", Section: "Installs",
		Formula: "skad_installs+skad_reinstalls"},
	{Slug: "skad_installs", Label: "Installs (SKAN)", Section: "Installs", Row: skadInstalls},
	{Slug: "skad_reinstalls", Label: "Reinstalls (SKAN)", Section: "Installs",
		Row: onIOS("(1-d.organic)*" + share("f.installs", 70_000, 47))},
	{Slug: "skad_qualifiers", Label: "Qualifiers (SKAdNetwork)", Section: "Installs",
		Row: share(skadInstalls, 1_900_000, 311)},
	{Slug: "invalid_payloads", Label: "Invalid Payloads (SKAdNetwork)", Section: "Installs",
		Row: share(skadInstalls, 12_000, 313)},
	{Slug: "skad_conversion_value_null", Label: "Conversion value null", Section: "Conversion Values",
		Formula: "(skad_installs+skad_reinstalls)-valid_conversions"},
	{Slug: "skad_conversion_value_null_rate", Label: "Conversion value null rate", Kind: Decimal,
		Section: "Conversion Values", Formula: "skad_conversion_value_null/skad_total_installs"},
	{Slug: "skad_conversion_value_gt_0", Label: "Conversion value greater than 0", Section: "Conversion Values",
		Formula: "valid_conversions-conversion_value_0"},
	{Slug: "valid_conversions", Label: "Valid conversions", Section: "Conversion Values", Row: validConversions},
	{Slug: "conversion_value_total", Label: "Conversion Value Total (SKAdNetwork)", Section: "Conversion Values",
		Formula: weighted("conversion_value_")},
	{Slug: "skad_valid_conversions", Label: "Valid Conversions (SKAdNetwork)", Section: "Conversion Values",
		Hidden: true, Formula: "valid_conversions"},
	{Slug: "skad_invalid_payloads", Label: "Invalid Payloads (SKAdNetwork)", Section: "Installs", Hidden: true,
		Formula: "invalid_payloads"},
	{Slug: "skad_conversion_value_total", Label: "Conversion Value Total (SKAdNetwork)", Section: "Conversion Values",
		Hidden: true, Formula: "conversion_value_total"},
	{Slug: "skad_direct_total_installs", Label: "Direct Total Installs (SKAdNetwork)", Section: "Direct Installs",
		Formula: "skad_direct_installs+skad_direct_reinstalls"},
	{Slug: "skad_direct_installs", Label: "Direct Installs (SKAdNetwork)", Section: "Direct Installs",
		Row: directInstalls},
	{Slug: "skad_direct_reinstalls", Label: "Direct Reinstalls (SKAdNetwork)", Section: "Direct Installs",
		Row: share(directInstalls, 90_000, 331)},
	{Slug: "skad_direct_invalid_payloads", Label: "Direct Invalid Payloads (SKAdNetwork)", Section: "Direct Installs",
		Row: share(directInstalls, 9_000, 337)},
	{Slug: "skad_direct_valid_conversions", Label: "Direct Valid Conversions (SKAdNetwork)",
		Section: "Direct Conversion Values", Row: directConversions},
	{Slug: "skad_direct_conversion_value_total", Label: "Direct Conversion Value Total (SKAdNetwork)",
		Section: "Direct Conversion Values", Formula: weighted("skad_direct_conversion_value_")},
	{Slug: "skad_direct_conversion_value_gt_0", Label: "Direct Conversion Value greater than 0 (SKAdNetwork)",
		Section: "Direct Conversion Values", Formula: "skad_direct_valid_conversions-skad_direct_conversion_value_0"},
	{Slug: "skad_direct_conversion_value_null", Label: "Direct Conversion Value Null",
		Section: "Direct Conversion Values",
		Formula: "(skad_direct_installs+skad_direct_reinstalls)-skad_direct_valid_conversions"},
}

const (
	valueCount = 64 // conversion values have six bits. Source: Apple, SKAdNetwork
	bitCount   = 6
)

// makeSkanRanges makes the families that are numbered: conversion values 0 to 63, their bits 1 to
// 6, coarse values.
func makeSkanRanges() []Metric {
	var out []Metric
	for _, f := range []struct {
		prefix, label, direct string
		whole                 string // row expression that the values add up to
		factor                int    // see share
	}{
		{"conversion_", "", "", validConversions, 353},
		{"skad_direct_conversion_", "Direct ", "Direct ", directConversions, 359},
	} {
		var bits [bitCount][]string // the values that have the bit
		for v := range valueCount {
			slug := fmt.Sprintf("%svalue_%d", f.prefix, v)
			for b := range bitCount {
				if v>>b&1 == 1 {
					bits[b] = append(bits[b], slug)
				}
			}
			out = append(out, Metric{Slug: slug, Label: fmt.Sprintf("%sConversion Value %d (SKAdNetwork)", f.label, v),
				Section: f.direct + "Conversion Values", Row: part(f.whole, runningShare(v), runningShare(v+1),
					f.factor)})
		}
		for b, values := range bits {
			out = append(out, Metric{Slug: fmt.Sprintf("%s%d", f.prefix, b+1),
				Label:   fmt.Sprintf("%sConversion Bit %d (SKAdNetwork)", f.label, b+1),
				Section: "6 " + f.direct + "Conversion Events (6 Bit)", Formula: strings.Join(values, "+")})
		}
	}
	// Each conversion_ metric is also known as skad_conversion_.
	for _, d := range out {
		if strings.HasPrefix(d.Slug, "conversion_") {
			d.Slug, d.Formula, d.Row, d.Hidden = "skad_"+d.Slug, d.Slug, "", true
			out = append(out, d)
		}
	}
	return append(out, coarseValues()...)
}

// runningShare returns how many of a million conversions have a value below v: low values are
// frequent, and none is absent.
func runningShare(v int) int {
	return facts.Million - facts.Million*(valueCount-v)*(valueCount-v)/(valueCount*valueCount)
}

// coarseValues makes the metrics of the second word of SKAN 4, the coarse conversion value. Each of
// three postbacks, which become fewer, falls into one bucket.
func coarseValues() []Metric {
	buckets := []struct {
		name  string
		share int
	}{{"null", 210_000}, {"none", 120_000}, {"low", 330_000}, {"medium", 220_000}, {"high", 120_000}}
	var out []Metric
	postbacks := skadInstalls
	for i, nth := range []string{"1st", "2nd", "3rd"} {
		from := 0
		for _, b := range buckets {
			out = append(out, Metric{Slug: fmt.Sprintf("skad_coarse_conversion_values_%s_%d", b.name, i), Kind: Decimal,
				Label:   fmt.Sprintf("Coarse conversion value %s (%s Postback)", b.name, nth),
				Section: "Coarse Conversion Values",
				Row:     part(postbacks, from, from+b.share, 367+i*6)})
			from += b.share
		}
		postbacks = share(postbacks, 550_000, 389)
	}
	return out
}

// weighted returns the formula of a conversion value total: each value times how often it came.
func weighted(prefix string) string {
	terms := make([]string, 0, valueCount-1)
	for v := 1; v < valueCount; v++ {
		terms = append(terms, fmt.Sprintf("%d*%s%d", v, prefix, v))
	}
	return strings.Join(terms, "+")
}

// skadPurchases is SQL for the average estimate of purchases in valid conversions.
var skadPurchases = share(validConversions, 350_000, 349)

// skanRevenueMetrics are what conversion values say of revenue: a value stands for a range, so
// there is a least, a most and a middle. The iap_ and skad_general_ families are general_revenue_
// under other names.
var skanRevenueMetrics = []Metric{
	{Slug: "revenue_min", Label: "Total Revenue (Min)", Kind: Money, Section: "Revenue", Hidden: true,
		Formula: "skan_total_revenue_min"},
	{Slug: "revenue_max", Label: "Total Revenue (Max)", Kind: Money, Section: "Revenue", Hidden: true,
		Formula: "skan_total_revenue_max"},
	{Slug: "revenue_est", Label: "Total Revenue (Average)", Kind: Money, Section: "Revenue", Hidden: true,
		Formula: "skan_total_revenue_est"},
	{Slug: "skan_total_revenue_min", Label: "Total Revenue (Min)", Kind: Money, Section: "Revenue",
		Formula: "iap_revenue_revenue_min+skad_ad_revenue_min"},
	{Slug: "skan_total_revenue_max", Label: "Total Revenue (Max)", Kind: Money, Section: "Revenue",
		Formula: "iap_revenue_revenue_max+skad_ad_revenue_max"},
	{Slug: "skan_total_revenue_est", Label: "Total Revenue (Average)", Kind: Money, Section: "Revenue",
		Formula: "iap_revenue_revenue_est+skad_ad_revenue_est"},
	{Slug: "skad_revenue_min_roas", Label: "ROAS (SKAN minimum)", Kind: Decimal, Section: "Revenue",
		Formula: "(skan_total_revenue_min*skad_installs)/(network_ad_spend_skan*valid_conversions)"},
	{Slug: "skad_revenue_max_roas", Label: "ROAS (SKAN maximum)", Kind: Decimal, Section: "Revenue",
		Formula: "(skan_total_revenue_max*skad_installs)/(network_ad_spend_skan*valid_conversions)"},
	{Slug: "skad_revenue_est_roas", Label: "ROAS (SKAN average)", Kind: Decimal, Section: "Revenue",
		Formula: "(skan_total_revenue_est*skad_installs)/(network_ad_spend_skan*valid_conversions)"},
	{Slug: "skad_revenue_min_roi", Label: "ROI (SKAN minimum)", Kind: Decimal, Section: "Revenue",
		Formula: "((skan_total_revenue_min*skad_installs)/(network_ad_spend_skan*valid_conversions))-1"},
	{Slug: "skad_revenue_max_roi", Label: "ROI (SKAN maximum)", Kind: Decimal, Section: "Revenue",
		Formula: "((skan_total_revenue_max*skad_installs)/(network_ad_spend_skan*valid_conversions))-1"},
	{Slug: "skad_revenue_est_roi", Label: "ROI (SKAN average)", Kind: Decimal, Section: "Revenue",
		Formula: "((skan_total_revenue_est*skad_installs)/(network_ad_spend_skan*valid_conversions))-1"},
	{Slug: "skad_revenue_per_install", Label: "Revenue per Install (SKAN)", Kind: Money, Section: "Revenue",
		Formula: "revenue_est/skad_total_installs"},
	{Slug: "skad_ad_revenue_max", Label: "Ad revenue (SKAN maximum)", Kind: Money, Section: "Revenue",
		Row: validConversions + "*d.adpu*6/5"},
	{Slug: "skad_ad_revenue_est", Label: "Ad revenue (SKAN average)", Kind: Money, Section: "Revenue",
		Row: validConversions + "*d.adpu"},
	{Slug: "skad_ad_revenue_min", Label: "Ad revenue (SKAN minimum)", Kind: Money, Section: "Revenue",
		Row: validConversions + "*d.adpu*4/5"},
	{Slug: "general_revenue_events_est", Label: "Average", Section: "Revenue", Row: skadPurchases},
	{Slug: "general_revenue_events_max", Label: "Max", Section: "Revenue", Row: "(" + skadPurchases + "*6+4)/5"},
	{Slug: "general_revenue_revenue_est", Label: "IAP Revenue (Average)", Kind: Money, Section: "Revenue",
		Row: skadPurchases + "*d.arpu*3"},
	{Slug: "general_revenue_revenue_max", Label: "IAP Revenue (Max)", Kind: Money, Section: "Revenue",
		Row: skadPurchases + "*d.arpu*39/10"},
	{Slug: "general_revenue_events_min", Label: "Min", Section: "Revenue", Row: skadPurchases + "*4/5"},
	{Slug: "general_revenue_revenue_min", Label: "IAP Revenue (Min)", Kind: Money, Section: "Revenue",
		Row: skadPurchases + "*d.arpu*21/10"},
	{Slug: "iap_revenue_events_est", Label: "Average", Section: "Revenue", Formula: "general_revenue_events_est"},
	{Slug: "iap_revenue_events_max", Label: "Max", Section: "Revenue", Formula: "general_revenue_events_max"},
	{Slug: "iap_revenue_revenue_est", Label: "IAP Revenue (Average)", Kind: Money, Section: "Revenue",
		Formula: "general_revenue_revenue_est"},
	{Slug: "iap_revenue_revenue_max", Label: "IAP Revenue (Max)", Kind: Money, Section: "Revenue",
		Formula: "general_revenue_revenue_max"},
	{Slug: "iap_revenue_events_min", Label: "Min", Section: "Revenue", Formula: "general_revenue_events_min"},
	{Slug: "iap_revenue_revenue_min", Label: "IAP Revenue (Min)", Kind: Money, Section: "Revenue",
		Formula: "general_revenue_revenue_min"},
	{Slug: "skad_general_events_est", Label: "Average", Section: "Revenue", Hidden: true,
		Formula: "general_revenue_events_est"},
	{Slug: "skad_general_events_max", Label: "Max", Section: "Revenue", Hidden: true,
		Formula: "general_revenue_events_max"},
	{Slug: "skad_general_revenue", Label: "IAP Revenue (Average)", Kind: Money, Section: "Revenue", Hidden: true,
		Formula: "general_revenue_revenue_est"},
	{Slug: "skad_general_revenue_max", Label: "IAP Revenue (Max)", Kind: Money, Section: "Revenue", Hidden: true,
		Formula: "general_revenue_revenue_max"},
	{Slug: "skad_general_events_min", Label: "Min", Section: "Revenue", Hidden: true,
		Formula: "general_revenue_events_min"},
	{Slug: "skad_general_revenue_min", Label: "IAP Revenue (Min)", Kind: Money, Section: "Revenue", Hidden: true,
		Formula: "general_revenue_revenue_min"},

	{Slug: "skan_ad_rpu_min", Label: "Ad Revenue per User (SKAN Min)", Kind: Money, Section: "Revenue",
		Formula: "skad_ad_revenue_min/skad_total_installs"},
	{Slug: "skan_ad_rpu_est", Label: "Ad Revenue per User (SKAN Average)", Kind: Money, Section: "Revenue",
		Formula: "skad_ad_revenue_est/skad_total_installs"},
	{Slug: "skan_ad_rpu_max", Label: "Ad Revenue per User (SKAN Max)", Kind: Money, Section: "Revenue",
		Formula: "skad_ad_revenue_max/skad_total_installs"},
	{Slug: "skan_iap_rpu_min", Label: "IAP Revenue per User (SKAN Min)", Kind: Money, Section: "Revenue",
		Formula: "iap_revenue_revenue_min/skad_total_installs"},
	{Slug: "skan_iap_rpu_est", Label: "IAP Revenue per User (SKAN Average)", Kind: Money, Section: "Revenue",
		Formula: "iap_revenue_revenue_est/skad_total_installs"},
	{Slug: "skan_iap_rpu_max", Label: "IAP Revenue per User (SKAN Max)", Kind: Money, Section: "Revenue",
		Formula: "iap_revenue_revenue_max/skad_total_installs"},
	{Slug: "skan_total_rpu_min", Label: "Total Revenue per User (SKAN Min)", Kind: Money, Section: "Revenue",
		Formula: "skan_total_revenue_min/valid_conversions"},
	{Slug: "skan_total_rpu_est", Label: "Total Revenue per User (SKAN Average)", Kind: Money, Section: "Revenue",
		Formula: "skan_total_revenue_est/valid_conversions"},
	{Slug: "skan_total_rpu_max", Label: "Total Revenue per User (SKAN Max)", Kind: Money, Section: "Revenue",
		Formula: "skan_total_revenue_max/valid_conversions"},
}
