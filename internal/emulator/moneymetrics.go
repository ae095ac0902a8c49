package emulator

import (
	"fmt"
)

// adImpressions carries {ads}: 0 for a source that ad_revenue_sources leaves out.
var adImpressions = "({ads}*" + share("f.dau", 5_300_000, 137) + ")"

var revenueMetrics = []metricDef{
	{slug: "revenue_events", label: "Revenue events", section: "Revenue", row: share("f.dau", 60_000, 131)},
	{slug: "revenue", label: "In-app revenue", kind: money, section: "Revenue", row: "f.revenue"},
	{slug: "cohort_revenue", label: "Revenue (Cohort)", kind: money, section: "Revenue", row: "{until_now:revenue}"},
	{slug: "ad_revenue", label: "Ad Revenue", kind: money, section: "Revenue", row: "f.ad_revenue"},
	{slug: "ad_impressions", label: "Ad Impressions", section: "Revenue", row: adImpressions},
	{slug: "ad_rpm", label: "Ad RPM", kind: money, section: "Revenue", formula: "(ad_revenue/ad_impressions)*1000"},
	{slug: "cohort_gross_profit", label: "Gross profit (Cohort)", kind: money, section: "Revenue", formula: "cohort_all_revenue-cost"},
	{slug: "gross_profit", label: "Gross profit", kind: money, section: "Revenue", formula: "all_revenue-cost"},
	{slug: "return_on_investment", label: "Return On Investment (ROI)", kind: ratio, section: "Revenue", formula: "cohort_gross_profit/cost"},
	{slug: "revenue_to_cost", label: "Revenue To Cost Ratio (RCR)", kind: decimal, section: "Revenue", formula: "cohort_revenue/cost"},
	{slug: "roas", label: "ROAS", kind: ratio, section: "Revenue", formula: "(cohort_revenue+cohort_ad_revenue)/cost"},
	{slug: "roas_ad", label: "ROAS (Ad Revenue)", kind: ratio, section: "Revenue", formula: "cohort_ad_revenue/cost"},
	{slug: "roas_iap", label: "ROAS (IAP Revenue)", kind: ratio, section: "Revenue", formula: "cohort_revenue/cost"},
	{slug: "arpdau", label: "ARPDAU (All)", kind: precise, section: "Revenue", formula: "all_revenue/kpi_daus"},
	{slug: "arpdau_ad", label: "ARPDAU (Ad)", kind: precise, section: "Revenue", formula: "ad_revenue/kpi_daus"},
	{slug: "arpdau_iap", label: "ARPDAU (IAP)", kind: precise, section: "Revenue", formula: "revenue/kpi_daus"},
	{slug: "all_revenue", label: "All Revenue", kind: money, section: "Revenue", formula: "revenue+ad_revenue"},
	{slug: "cohort_all_revenue", label: "All Revenue (Cohort)", kind: money, section: "Revenue", formula: "cohort_revenue+cohort_ad_revenue"},
	{slug: "cohort_ad_revenue", label: "Ad Revenue (Cohort)", kind: money, section: "Revenue", row: "{until_now:ad_revenue}"},
	{slug: "subscription_revenue", label: "Subscription Revenue", kind: money, section: "Revenue", formula: "subscrevnt_revenue"},

	// Aggregated ad revenue: what mediation says of itself, by its own count.
	{slug: "aar_requests", label: "Ad Requests (Aggregated)", section: "Revenue", row: adImpressions + "*3"},
	{slug: "aar_impressions", label: "Ad Impressions (Aggregated)", section: "Revenue", row: adImpressions},
	{slug: "aar_clicks", label: "Ad Clicks (Aggregated)", section: "Revenue", row: share(adImpressions, 24_000, 193)},
	{slug: "aar_revenue", label: "Ad Revenue (Aggregated)", kind: money, section: "Revenue", row: "f.ad_revenue"},

	// InSight, an addition to be paid for: what would not have come without the campaign.
	{slug: "average_revenue_per_event", label: "Average Revenue per Event", kind: money, section: "Revenue", formula: "revenue/revenue_events"},
	{slug: "incremental_revenue", label: "Incremental Revenue", kind: money, section: "Revenue", row: "(1-d.organic)*(f.revenue*7/20)"},
	{slug: "incremental_roas", label: "Incremental ROAS", kind: ratio, section: "Revenue", formula: "incremental_revenue/cost"},
}

var costMetrics = []metricDef{
	{slug: "click_cost", label: "Click Cost", kind: money, section: "Cost", row: "(f.pricing=2)*f.spend"},
	{slug: "impression_cost", label: "Impression Cost", kind: money, section: "Cost", row: "(f.pricing=3)*f.spend"},
	{slug: "paid_clicks", label: "Clicks (paid)", section: "Cost", row: "(f.spend>0)*f.clicks"},
	{slug: "paid_impressions", label: "Impressions (paid)", section: "Cost", row: "(f.spend>0)*f.impressions"},
	{slug: "paid_installs", label: "Installs (paid)", section: "Cost", row: "(f.spend>0)*f.installs"},
	{slug: "install_cost", label: "Install Cost", kind: money, section: "Cost", row: "(f.pricing=1)*f.spend"},
	{slug: "event_cost", label: "Event Cost", kind: money, section: "Cost", row: "(f.pricing=4)*f.spend"},
	{slug: "adjust_cost", label: "Ad Spend (Attribution)", kind: money, section: "Cost", formula: "((install_cost+click_cost)+impression_cost)+event_cost"},
	{slug: "cost", label: "Ad Spend", kind: money, section: "Cost", row: "{cost}"},
	{slug: "ecpc", label: "Effective Cost per Click (eCPC)", kind: money, section: "Cost", formula: "cost/paid_clicks"},
	{slug: "ecpm", label: "eCPM (Attribution)", kind: money, section: "Cost", formula: "(cost/paid_impressions)*1000"},
	{slug: "ecpi", label: "eCPI (Paid Installs)", kind: money, section: "Cost", formula: "cost/paid_installs"},
	{slug: "ecpi_all", label: "eCPI (All Installs)", kind: money, section: "Cost", formula: "cost/installs"},
}

// makeAdSourceMetrics makes the per-source ad revenue families. A fact's ads come from one source, so the sources add up to
// ad_revenue, ad_impressions and their cohort forms.
func makeAdSourceMetrics() []metricDef {
	var out []metricDef
	for n, src := range adSources {
		of := fmt.Sprintf("(f.ad_source=%d)*", n)
		add := func(slug, label string, k kind, formula, row string) {
			out = append(out, metricDef{slug: fmt.Sprintf(slug, src.slug), label: fmt.Sprintf(label, src.name), kind: k, section: "Revenue", formula: formula, row: row})
		}
		add("ad_revenue_%s", "Ad Revenue (%s)", money, "", of+"f.ad_revenue")
		add("ad_impressions_%s", "Ad Impressions (%s)", count, "", of+adImpressions)
		add("cohort_ad_revenue_%s", "Ad Revenue (Cohort) (%s)", money, "", of+"{until_now:ad_revenue}")
		add("ad_rpm_%s", "Ad RPM (%s)", money, fmt.Sprintf("(ad_revenue_%[1]s/ad_impressions_%[1]s)*1000", src.slug), "")
		add("ad_revenue_%s_{p}", "{P} Ad Revenue (%s)", money, "", of+"{inside:ad_revenue}")
		add("ad_impressions_%s_{p}", "{P} Ad Impressions (%s)", count, "", of+"{inside:ad_impressions}")
	}
	return out
}
