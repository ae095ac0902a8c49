package emulator

import (
	"fmt"
	"strings"
)

// SKAdNetwork's numbers: iOS only, and never organic. Valid conversions are postbacks with a conversion value.
var (
	skadInstalls      = onIOS("(1-d.organic)*" + share("f.installs", 700_000, 59))
	validConversions  = share(skadInstalls, 690_000, 53)
	directInstalls    = share(skadInstalls, 560_000, 317)
	directConversions = share(directInstalls, 740_000, 347)
)

var skanMetrics = []metricDef{
	{slug: "skad_conversion_values", label: "Conversion Value", section: "Conversion Values", hidden: true, formula: "valid_conversions"},
	{slug: "skad_conversion_bits", label: "Conversion Bit", section: "Conversion Values", hidden: true, formula: "conversion_1+conversion_2+conversion_3+conversion_4+conversion_5+conversion_6"},
	{slug: "skad_total_installs", label: "Total installs (SKAd)", section: "Installs", formula: "skad_installs+skad_reinstalls"},
	{slug: "skad_installs", label: "Installs (SKAN)", section: "Installs", row: skadInstalls},
	{slug: "skad_reinstalls", label: "Reinstalls (SKAN)", section: "Installs", row: onIOS("(1-d.organic)*" + share("f.installs", 70_000, 47))},
	{slug: "skad_qualifiers", label: "Qualifiers (SKAdNetwork)", section: "Installs", row: share(skadInstalls, 1_900_000, 311)},
	{slug: "invalid_payloads", label: "Invalid Payloads (SKAdNetwork)", section: "Installs", row: share(skadInstalls, 12_000, 313)},
	{slug: "skad_conversion_value_null", label: "Conversion value null", section: "Conversion Values", formula: "(skad_installs+skad_reinstalls)-valid_conversions"},
	{slug: "skad_conversion_value_null_rate", label: "Conversion value null rate", kind: decimal, section: "Conversion Values", formula: "skad_conversion_value_null/skad_installs"},
	{slug: "skad_conversion_value_gt_0", label: "Conversion value greater than 0", section: "Conversion Values", formula: "valid_conversions-conversion_value_0"},
	{slug: "valid_conversions", label: "Valid conversions", section: "Conversion Values", row: validConversions},
	{slug: "conversion_value_total", label: "Conversion Value Total (SKAdNetwork)", section: "Conversion Values", formula: weighted("conversion_value_")},
	{slug: "skad_valid_conversions", label: "Valid Conversions (SKAdNetwork)", section: "Conversion Values", hidden: true, formula: "valid_conversions"},
	{slug: "skad_invalid_payloads", label: "Invalid Payloads (SKAdNetwork)", section: "Installs", hidden: true, formula: "invalid_payloads"},
	{slug: "skad_conversion_value_total", label: "Conversion Value Total (SKAdNetwork)", section: "Conversion Values", hidden: true, formula: "conversion_value_total"},
	{slug: "skad_direct_total_installs", label: "Direct Total Installs (SKAdNetwork)", section: "Direct Installs", formula: "skad_direct_installs+skad_direct_reinstalls"},
	{slug: "skad_direct_installs", label: "Direct Installs (SKAdNetwork)", section: "Direct Installs", row: directInstalls},
	{slug: "skad_direct_reinstalls", label: "Direct Reinstalls (SKAdNetwork)", section: "Direct Installs", row: share(directInstalls, 90_000, 331)},
	{slug: "skad_direct_invalid_payloads", label: "Direct Invalid Payloads (SKAdNetwork)", section: "Direct Installs", row: share(directInstalls, 9_000, 337)},
	{slug: "skad_direct_valid_conversions", label: "Direct Valid Conversions (SKAdNetwork)", section: "Direct Conversion Values", row: directConversions},
	{slug: "skad_direct_conversion_value_total", label: "Direct Conversion Value Total (SKAdNetwork)", section: "Direct Conversion Values", formula: weighted("skad_direct_conversion_value_")},
	{slug: "skad_direct_conversion_value_gt_0", label: "Direct Conversion Value greater than 0 (SKAdNetwork)", section: "Direct Conversion Values", formula: "skad_direct_valid_conversions-skad_direct_conversion_value_0"},
	{slug: "skad_direct_conversion_value_null", label: "Direct Conversion Value Null", section: "Direct Conversion Values", formula: "(skad_direct_installs+skad_direct_reinstalls)-skad_direct_valid_conversions"},
}

const (
	valueCount = 64 // conversion values have six bits. Source: Apple, SKAdNetwork
	bitCount   = 6
)

// makeSkanRanges makes the families that are numbered: conversion values 0 to 63, their bits 1 to 6, coarse values.
func makeSkanRanges() []metricDef {
	var out []metricDef
	for _, f := range []struct {
		prefix, label, direct, whole string
		factor                       int
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
			out = append(out, metricDef{slug: slug, label: fmt.Sprintf("%sConversion Value %d (SKAdNetwork)", f.label, v),
				section: f.direct + "Conversion Values", row: part(f.whole, runningShare(v), runningShare(v+1), f.factor)})
		}
		for b, values := range bits {
			out = append(out, metricDef{slug: fmt.Sprintf("%s%d", f.prefix, b+1), label: fmt.Sprintf("%sConversion Bit %d (SKAdNetwork)", f.label, b+1),
				section: "6 " + f.direct + "Conversion Events (6 Bit)", formula: strings.Join(values, "+")})
		}
	}
	for _, d := range out {
		if strings.HasPrefix(d.slug, "conversion_") {
			d.slug, d.formula, d.row, d.hidden = "skad_"+d.slug, d.slug, "", true
			out = append(out, d)
		}
	}
	return append(out, coarseValues()...)
}

// runningShare is how many of a million conversions have a value below v: low values are frequent, and none is absent.
func runningShare(v int) int {
	return million - million*(valueCount-v)*(valueCount-v)/(valueCount*valueCount)
}

// coarseValues are the second word of SKAN 4: each of three postbacks, fewer with every one, falls into one bucket.
func coarseValues() []metricDef {
	buckets := []struct {
		name  string
		share int
	}{{"null", 210_000}, {"none", 120_000}, {"low", 330_000}, {"medium", 220_000}, {"high", 120_000}}
	var out []metricDef
	postbacks := skadInstalls
	for i, nth := range []string{"1st", "2nd", "3rd"} {
		from := 0
		for _, b := range buckets {
			out = append(out, metricDef{slug: fmt.Sprintf("skad_coarse_conversion_values_%s_%d", b.name, i), kind: decimal,
				label: fmt.Sprintf("Coarse conversion value %s (%s Postback)", b.name, nth), section: "Coarse Conversion Values",
				row: part(postbacks, from, from+b.share, 367+i*6)})
			from += b.share
		}
		postbacks = share(postbacks, 550_000, 389)
	}
	return out
}

// weighted is the formula of a conversion value total: each value times how often it came.
func weighted(prefix string) string {
	terms := make([]string, 0, valueCount-1)
	for v := 1; v < valueCount; v++ {
		terms = append(terms, fmt.Sprintf("%d*%s%d", v, prefix, v))
	}
	return strings.Join(terms, "+")
}

var skadPurchases = share(validConversions, 350_000, 349)

// skanRevenueMetrics are what conversion values say of revenue: a value stands for a range, so there is a least, a most
// and a middle. The iap_ and skad_general_ families are general_revenue_ under other names.
var skanRevenueMetrics = []metricDef{
	{slug: "revenue_min", label: "Total Revenue (Min)", kind: money, section: "Revenue", hidden: true, formula: "skan_total_revenue_min"},
	{slug: "revenue_max", label: "Total Revenue (Max)", kind: money, section: "Revenue", hidden: true, formula: "skan_total_revenue_max"},
	{slug: "revenue_est", label: "Total Revenue (Average)", kind: money, section: "Revenue", hidden: true, formula: "skan_total_revenue_est"},
	{slug: "skan_total_revenue_min", label: "Total Revenue (Min)", kind: money, section: "Revenue", formula: "iap_revenue_revenue_min+skad_ad_revenue_min"},
	{slug: "skan_total_revenue_max", label: "Total Revenue (Max)", kind: money, section: "Revenue", formula: "iap_revenue_revenue_max+skad_ad_revenue_max"},
	{slug: "skan_total_revenue_est", label: "Total Revenue (Average)", kind: money, section: "Revenue", formula: "iap_revenue_revenue_est+skad_ad_revenue_est"},
	{slug: "skad_revenue_min_roas", label: "ROAS (SKAN minimum)", kind: decimal, section: "Revenue", formula: "(general_revenue_revenue_min*skad_installs)/(network_ad_spend_skan*valid_conversions)"},
	{slug: "skad_revenue_max_roas", label: "ROAS (SKAN maximum)", kind: decimal, section: "Revenue", formula: "(general_revenue_revenue_max*skad_installs)/(network_ad_spend_skan*valid_conversions)"},
	{slug: "skad_revenue_est_roas", label: "ROAS (SKAN average)", kind: decimal, section: "Revenue", formula: "(general_revenue_revenue_est*skad_installs)/(network_ad_spend_skan*valid_conversions)"},
	{slug: "skad_revenue_min_roi", label: "ROI (SKAN minimum)", kind: decimal, section: "Revenue", formula: "((general_revenue_revenue_min*skad_installs)/(network_ad_spend_skan*valid_conversions))-1"},
	{slug: "skad_revenue_max_roi", label: "ROI (SKAN maximum)", kind: decimal, section: "Revenue", formula: "((general_revenue_revenue_max*skad_installs)/(network_ad_spend_skan*valid_conversions))-1"},
	{slug: "skad_revenue_est_roi", label: "ROI (SKAN average)", kind: decimal, section: "Revenue", formula: "((general_revenue_revenue_est*skad_installs)/(network_ad_spend_skan*valid_conversions))-1"},
	{slug: "skad_revenue_per_install", label: "Revenue per Install (SKAN)", kind: money, section: "Revenue", formula: "revenue_est/skad_total_installs"},
	{slug: "skad_ad_revenue_max", label: "Ad revenue (SKAN maximum)", kind: money, section: "Revenue", row: validConversions + "*d.adpu*6/5"},
	{slug: "skad_ad_revenue_est", label: "Ad revenue (SKAN average)", kind: money, section: "Revenue", row: validConversions + "*d.adpu"},
	{slug: "skad_ad_revenue_min", label: "Ad revenue (SKAN minimum)", kind: money, section: "Revenue", row: validConversions + "*d.adpu*4/5"},
	{slug: "general_revenue_events_est", label: "Average", section: "Revenue", row: skadPurchases},
	{slug: "general_revenue_events_max", label: "Max", section: "Revenue", row: "(" + skadPurchases + "*6+4)/5"},
	{slug: "general_revenue_revenue_est", label: "IAP Revenue (Average)", kind: money, section: "Revenue", row: skadPurchases + "*d.arpu*3"},
	{slug: "general_revenue_revenue_max", label: "IAP Revenue (Max)", kind: money, section: "Revenue", row: skadPurchases + "*d.arpu*39/10"},
	{slug: "general_revenue_events_min", label: "Min", section: "Revenue", row: skadPurchases + "*4/5"},
	{slug: "general_revenue_revenue_min", label: "IAP Revenue (Min)", kind: money, section: "Revenue", row: skadPurchases + "*d.arpu*21/10"},
	{slug: "iap_revenue_events_est", label: "Average", section: "Revenue", formula: "general_revenue_events_est"},
	{slug: "iap_revenue_events_max", label: "Max", section: "Revenue", formula: "general_revenue_events_max"},
	{slug: "iap_revenue_revenue_est", label: "IAP Revenue (Average)", kind: money, section: "Revenue", formula: "general_revenue_revenue_est"},
	{slug: "iap_revenue_revenue_max", label: "IAP Revenue (Max)", kind: money, section: "Revenue", formula: "general_revenue_revenue_max"},
	{slug: "iap_revenue_events_min", label: "Min", section: "Revenue", formula: "general_revenue_events_min"},
	{slug: "iap_revenue_revenue_min", label: "IAP Revenue (Min)", kind: money, section: "Revenue", formula: "general_revenue_revenue_min"},
	{slug: "skad_general_events_est", label: "Average", section: "Revenue", hidden: true, formula: "general_revenue_events_est"},
	{slug: "skad_general_events_max", label: "Max", section: "Revenue", hidden: true, formula: "general_revenue_events_max"},
	{slug: "skad_general_revenue", label: "IAP Revenue (Average)", kind: money, section: "Revenue", hidden: true, formula: "general_revenue_revenue_est"},
	{slug: "skad_general_revenue_max", label: "IAP Revenue (Max)", kind: money, section: "Revenue", hidden: true, formula: "general_revenue_revenue_max"},
	{slug: "skad_general_events_min", label: "Min", section: "Revenue", hidden: true, formula: "general_revenue_events_min"},
	{slug: "skad_general_revenue_min", label: "IAP Revenue (Min)", kind: money, section: "Revenue", hidden: true, formula: "general_revenue_revenue_min"},

	{slug: "skan_ad_rpu_min", label: "Ad Revenue per User (SKAN Min)", kind: money, section: "Revenue", formula: "skad_ad_revenue_min/skad_total_installs"},
	{slug: "skan_ad_rpu_est", label: "Ad Revenue per User (SKAN Average)", kind: money, section: "Revenue", formula: "skad_ad_revenue_est/skad_total_installs"},
	{slug: "skan_ad_rpu_max", label: "Ad Revenue per User (SKAN Max)", kind: money, section: "Revenue", formula: "skad_ad_revenue_max/skad_total_installs"},
	{slug: "skan_iap_rpu_min", label: "IAP Revenue per User (SKAN Min)", kind: money, section: "Revenue", formula: "iap_revenue_revenue_min/skad_total_installs"},
	{slug: "skan_iap_rpu_est", label: "IAP Revenue per User (SKAN Average)", kind: money, section: "Revenue", formula: "iap_revenue_revenue_est/skad_total_installs"},
	{slug: "skan_iap_rpu_max", label: "IAP Revenue per User (SKAN Max)", kind: money, section: "Revenue", formula: "iap_revenue_revenue_max/skad_total_installs"},
	{slug: "skan_total_rpu_min", label: "Total Revenue per User (SKAN Min)", kind: money, section: "Revenue", formula: "skan_total_revenue_min/skad_total_installs"},
	{slug: "skan_total_rpu_est", label: "Total Revenue per User (SKAN Average)", kind: money, section: "Revenue", formula: "skan_total_revenue_est/skad_total_installs"},
	{slug: "skan_total_rpu_max", label: "Total Revenue per User (SKAN Max)", kind: money, section: "Revenue", formula: "skan_total_revenue_max/skad_total_installs"},
}
