package metrics

import (
	"fmt"

	"github.com/reportferry/reportferry/internal/emulator/facts"
)

// adImpressions is SQL for ad impressions, with {ads}, which is 0 for a source that
// ad_revenue_sources leaves out.
var adImpressions = "({ads}*" + share("f.dau", 5_300_000, 137) + ")"

// revenueMetrics are revenue, and what is set against cost.
var revenueMetrics = []Metric{
	{Slug: "revenue_events", Label: "Revenue events", Section: "Revenue", Row: share("f.dau", 60_000, 131)},
	{Slug: "revenue", Label: "In-app revenue", Kind: Money, Section: "Revenue", Row: "f.revenue"},
	{Slug: "cohort_revenue", Label: "Revenue (Cohort)", Kind: Money, Section: "Revenue", Row: "{until_now:revenue}"},
	{Slug: "ad_revenue", Label: "Ad Revenue", Kind: Money, Section: "Revenue", Row: "f.ad_revenue"},
	{Slug: "ad_impressions", Label: "Ad Impressions", Section: "Revenue", Row: adImpressions},
	{Slug: "ad_rpm", Label: "Ad RPM", Kind: Money, Section: "Revenue", Formula: "(ad_revenue/ad_impressions)*1000"},
	{Slug: "cohort_gross_profit", Label: "Gross profit (Cohort)", Kind: Money, Section: "Revenue",
		Formula: "cohort_all_revenue-cost"},
	{Slug: "gross_profit", Label: "Gross profit", Kind: Money, Section: "Revenue", Formula: "all_revenue-cost"},
	{Slug: "return_on_investment", Label: "Return On Investment (ROI)", Kind: Ratio, Section: "Revenue",
		Formula: "cohort_gross_profit/cost"},
	{Slug: "revenue_to_cost", Label: "Revenue To Cost Ratio (RCR)", Kind: Decimal, Section: "Revenue",
		Formula: "cohort_revenue/cost"},
	{Slug: "roas", Label: "ROAS", Kind: Ratio, Section: "Revenue", Formula: "(cohort_revenue+cohort_ad_revenue)/cost"},
	{Slug: "roas_ad", Label: "ROAS (Ad Revenue)", Kind: Ratio, Section: "Revenue", Formula: "cohort_ad_revenue/cost"},
	{Slug: "roas_iap", Label: "ROAS (IAP Revenue)", Kind: Ratio, Section: "Revenue", Formula: "cohort_revenue/cost"},
	{Slug: "arpdau", Label: "ARPDAU (All)", Kind: Precise, Section: "Revenue", Formula: "all_revenue/kpi_daus"},
	{Slug: "arpdau_ad", Label: "ARPDAU (Ad)", Kind: Precise, Section: "Revenue", Formula: "ad_revenue/kpi_daus"},
	{Slug: "arpdau_iap", Label: "ARPDAU (IAP)", Kind: Precise, Section: "Revenue", Formula: "revenue/kpi_daus"},
	{Slug: "all_revenue", Label: "All Revenue", Kind: Money, Section: "Revenue", Formula: "revenue+ad_revenue"},
	{Slug: "cohort_all_revenue", Label: "All Revenue (Cohort)", Kind: Money, Section: "Revenue",
		Formula: "cohort_revenue+cohort_ad_revenue"},
	{Slug: "cohort_ad_revenue", Label: "Ad Revenue (Cohort)", Kind: Money, Section: "Revenue",
		Row: "{until_now:ad_revenue}"},
	{Slug: "subscription_revenue", Label: "Subscription Revenue", Kind: Money, Section: "Revenue",
		Formula: "subscrevnt_revenue"},

	// Aggregated ad revenue: what ad mediation reports by its own count.
	{Slug: "aar_requests", Label: "Ad Requests (Aggregated)", Section: "Revenue", Row: adImpressions + "*3"},
	{Slug: "aar_impressions", Label: "Ad Impressions (Aggregated)", Section: "Revenue", Row: adImpressions},
	{Slug: "aar_clicks", Label: "Ad Clicks (Aggregated)", Section: "Revenue", Row: share(adImpressions, 24_000, 193)},
	{Slug: "aar_revenue", Label: "Ad Revenue (Aggregated)", Kind: Money, Section: "Revenue", Row: "f.ad_revenue"},

	// InSight, an addition that costs extra: revenue that would not have come without the campaign.
	{Slug: "average_revenue_per_event", Label: "Average Revenue per Event", Kind: Money, Section: "Revenue",
		Formula: "revenue/revenue_events"},
	{Slug: "incremental_revenue", Label: "Incremental Revenue", Kind: Money, Section: "Revenue",
		Row: "(1-d.organic)*(f.revenue*7/20)"},
	{Slug: "incremental_roas", Label: "Incremental ROAS", Kind: Ratio, Section: "Revenue",
		Formula: "incremental_revenue/cost"},
}

// costMetrics are ad spend by way of paying, and its quotients.
var costMetrics = []Metric{
	{Slug: "click_cost", Label: "Click Cost", Kind: Money, Section: "Cost", Row: "(f.pricing=2)*f.spend"},
	{Slug: "impression_cost", Label: "Impression Cost", Kind: Money, Section: "Cost", Row: "(f.pricing=3)*f.spend"},
	{Slug: "paid_clicks", Label: "Clicks (paid)", Section: "Cost", Row: "(f.spend>0)*f.clicks"},
	{Slug: "paid_impressions", Label: "Impressions (paid)", Section: "Cost", Row: "(f.spend>0)*f.impressions"},
	{Slug: "paid_installs", Label: "Installs (paid)", Section: "Cost", Row: "(f.spend>0)*f.installs"},
	{Slug: "install_cost", Label: "Install Cost", Kind: Money, Section: "Cost", Row: "(f.pricing=1)*f.spend"},
	{Slug: "event_cost", Label: "Event Cost", Kind: Money, Section: "Cost", Row: "(f.pricing=4)*f.spend"},
	{Slug: "adjust_cost", Label: "Ad Spend (Attribution)", Kind: Money, Section: "Cost",
		Formula: "((install_cost+click_cost)+impression_cost)+event_cost"},
	{Slug: "cost", Label: "Ad Spend", Kind: Money, Section: "Cost", Row: "{cost}"},
	{Slug: "ecpc", Label: "Effective Cost per Click (eCPC)", Kind: Money, Section: "Cost", Formula: "cost/paid_clicks"},
	{Slug: "ecpm", Label: "eCPM (Attribution)", Kind: Money, Section: "Cost", Formula: "(cost/paid_impressions)*1000"},
	{Slug: "ecpi", Label: "eCPI (Paid Installs)", Kind: Money, Section: "Cost", Formula: "cost/paid_installs"},
	{Slug: "ecpi_all", Label: "eCPI (All Installs)", Kind: Money, Section: "Cost", Formula: "cost/installs"},
}

// makeAdSourceMetrics makes the per-source ad revenue families. A fact's ads come from one source,
// so the sources add up to ad_revenue, ad_impressions and their cohort forms.
func makeAdSourceMetrics() []Metric {
	var out []Metric
	for n, src := range facts.AdSources {
		ofSource := fmt.Sprintf("(f.ad_source=%d)*", n)
		add := func(slug, label string, k Kind, formula, row string) {
			out = append(out, Metric{Slug: fmt.Sprintf(slug, src.Slug), Label: fmt.Sprintf(label, src.Name), Kind: k,
				Section: "Revenue", Formula: formula, Row: row})
		}
		add("ad_revenue_%s", "Ad Revenue (%s)", Money, "", ofSource+"f.ad_revenue")
		add("ad_impressions_%s", "Ad Impressions (%s)", Count, "", ofSource+adImpressions)
		add("cohort_ad_revenue_%s", "Ad Revenue (Cohort) (%s)", Money, "", ofSource+"{until_now:ad_revenue}")
		add("ad_rpm_%s", "Ad RPM (%s)", Money, fmt.Sprintf("(ad_revenue_%[1]s/ad_impressions_%[1]s)*1000", src.Slug),
			"")
		add("ad_revenue_%s_{p}", "{P} Ad Revenue (%s)", Money, "", ofSource+"{inside:ad_revenue}")
		add("ad_impressions_%s_{p}", "{P} Ad Impressions (%s)", Count, "", ofSource+"{inside:ad_impressions}")
	}
	return out
}
