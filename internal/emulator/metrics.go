package emulator

import "fmt"

// kind is how a metric's value is written.
type kind int

const (
	count   kind = iota // integer
	money               // at least one decimal, no more than six unless it is a quotient
	ratio               // fraction, not percent
	decimal             // any other quotient
	seconds             // integer
)

// metricDef is a row of the formula table: a slug with its readable name and either a formula over other metrics, or a
// row expression: SQL over one fact f of slice d, summed over a group's rows. Placeholders in slug, label and text:
// {p} period, {P} its readable form, {e} event slug, {E} event name.
type metricDef struct {
	slug, label string
	kind        kind
	formula     string
	row         string
}

// Overview metrics. Where the row expression is a guess (most shares of a base column are) it only has to be plausible.
// Formulas: the metrics catalogue in the service's glossary.
var overviewMetrics = []metricDef{
	{slug: "clicks", label: "Clicks", row: "f.clicks"},
	{slug: "attribution_clicks", label: "Clicks (Attribution)", row: "f.clicks"},
	{slug: "impressions", label: "Impressions", row: "f.impressions"},
	{slug: "attribution_impressions", label: "Impressions (Attribution)", row: "f.impressions"},
	{slug: "installs", label: "Installs", row: "f.installs"},
	{slug: "organic_installs", label: "Organic Installs", row: "d.organic*f.installs"},
	{slug: "non_organic_installs", label: "Non-Organic Installs", row: "(1-d.organic)*f.installs"},
	{slug: "organic_install_rate", label: "Organic install rate", kind: ratio, formula: "organic_installs/installs"},
	{slug: "reinstalls", label: "Reinstalls", row: share("f.installs", 90_000, 11)},
	{slug: "reattributions", label: "Reattributions", row: share("f.installs", 60_000, 7)},
	{slug: "deattributions", label: "Deattributions", row: share("f.installs", 30_000, 17)},
	{slug: "uninstalls", label: "Uninstalls", row: share("f.installs", 350_000, 13)},
	{slug: "gdpr_forgets", label: "GDPR Forgets", row: share("f.installs", 2_000, 19)},
	{slug: "base_sessions", label: "Base Sessions", row: "f.sessions"},
	{slug: "sessions", label: "Sessions", formula: "base_sessions+installs+reattributions"},
	{slug: "daus", label: "Avg. DAUs", kind: decimal, formula: "daily_users/active_days"},
	{slug: "waus", label: "Avg. WAUs", kind: decimal, formula: "daily_users*3/active_days"},
	{slug: "maus", label: "Avg. MAUs", kind: decimal, formula: "daily_users*7/active_days"},
	{slug: "kpi_daus", label: "Avg. DAUs", kind: decimal, formula: "daus"},
	{slug: "kpi_waus", label: "Avg. WAUs", kind: decimal, formula: "waus"},
	{slug: "kpi_maus", label: "Avg. MAUs", kind: decimal, formula: "maus"},
	{slug: "ctr", label: "CTR", kind: ratio, formula: "clicks/impressions"},
	{slug: "click_conversion_rate", label: "Click Conversion Rate (CCR)", kind: ratio, formula: "installs/clicks"},
	{slug: "impression_conversion_rate", label: "Impression Conversion Rate (ICR)", kind: ratio, formula: "installs/impressions"},
	{slug: "limit_ad_tracking_installs", label: "Limit Ad Tracking Installs", row: share("f.installs", 180_000, 23)},
	{slug: "limit_ad_tracking_install_rate", label: "Limit Ad Tracking Rate", kind: ratio, formula: "limit_ad_tracking_installs/installs"},
	{slug: "att_status_authorized", label: "ATT Status Authorized", row: onIOS(share("f.installs", 310_000, 29))},
	{slug: "att_status_denied", label: "ATT Status Denied", row: onIOS("f.installs-" + share("f.installs", 310_000, 29))},
	{slug: "att_consent_rate", label: "ATT Consent Rate", kind: ratio, formula: "att_status_authorized/(att_status_denied+att_status_authorized)"},

	{slug: "events", label: "Total Events", row: share("f.dau", 4_200_000, 31)},
	{slug: "revenue_events", label: "Revenue events", row: share("f.dau", 60_000, 131)},
	{slug: "revenue", label: "In-app revenue", kind: money, row: "f.revenue"},
	{slug: "ad_revenue", label: "Ad Revenue", kind: money, row: "f.ad_revenue"},
	{slug: "ad_impressions", label: "Ad Impressions", row: share("f.dau", 5_300_000, 137)},
	{slug: "ad_rpm", label: "Ad RPM", kind: money, formula: "(ad_revenue/ad_impressions)*1000"},
	{slug: "all_revenue", label: "All Revenue", kind: money, formula: "revenue+ad_revenue"},
	{slug: "arpdau", label: "ARPDAU (All)", kind: money, formula: "all_revenue/kpi_daus"},
	{slug: "arpdau_ad", label: "ARPDAU (Ad)", kind: money, formula: "ad_revenue/kpi_daus"},
	{slug: "arpdau_iap", label: "ARPDAU (IAP)", kind: money, formula: "revenue/kpi_daus"},

	{slug: "install_cost", label: "Install Cost", kind: money, row: "(d.pricing=1)*f.spend"},
	{slug: "click_cost", label: "Click Cost", kind: money, row: "(d.pricing=2)*f.spend"},
	{slug: "impression_cost", label: "Impression Cost", kind: money, row: "(d.pricing=3)*f.spend"},
	{slug: "event_cost", label: "Event Cost", kind: money, row: "(d.pricing=4)*f.spend"},
	{slug: "adjust_cost", label: "Ad Spend (Attribution)", kind: money, formula: "((install_cost+click_cost)+impression_cost)+event_cost"},
	{slug: "cost", label: "Ad Spend", kind: money, row: "{cost}"},
	{slug: "paid_clicks", label: "Clicks (paid)", row: "(f.spend>0)*f.clicks"},
	{slug: "paid_impressions", label: "Impressions (paid)", row: "(f.spend>0)*f.impressions"},
	{slug: "paid_installs", label: "Installs (paid)", row: "(f.spend>0)*f.installs"},
	{slug: "ecpc", label: "Effective Cost per Click (eCPC)", kind: money, formula: "cost/paid_clicks"},
	{slug: "ecpm", label: "eCPM (Attribution)", kind: money, formula: "(cost/paid_impressions)*1000"},
	{slug: "ecpi", label: "eCPI (Paid Installs)", kind: money, formula: "cost/paid_installs"},
	{slug: "ecpi_all", label: "eCPI (All Installs)", kind: money, formula: "cost/installs"},
	{slug: "gross_profit", label: "Gross profit", kind: money, formula: "all_revenue-cost"},

	{slug: "network_cost", label: "Ad Spend (Network)", kind: money, row: networkSpend},
	{slug: "network_installs", label: "Installs (Network)", row: "d.has_network*" + share("f.installs", 1_040_000, 37)},
	{slug: "network_clicks", label: "Clicks (Network)", row: "d.has_network*" + share("f.clicks", 1_110_000, 41)},
	{slug: "network_impressions", label: "Impressions (Network)", row: "d.has_network*" + share("f.impressions", 1_070_000, 43)},
	{slug: "network_ctr", label: "CTR (Network)", kind: ratio, formula: "network_clicks/network_impressions"},
	{slug: "network_cost_diff", label: "Ad Spend Diff (Network)", kind: decimal, formula: "abs(network_cost-adjust_cost)"},
	{slug: "network_installs_diff", label: "Installs Diff (Network)", formula: "abs(network_installs-installs)"},
	{slug: "network_installs_diff_signed", label: "Installs Diff Signed (Network)", formula: "network_installs-installs"},
	{slug: "network_ecpi", label: "eCPI (Network)", kind: money, formula: "network_cost/network_installs"},
	{slug: "ecpi_network", label: "eCPI (Network)", kind: money, formula: "network_ecpi"},
	{slug: "network_ecpm", label: "eCPM (Network)", kind: money, formula: "(network_cost/network_impressions)*1000"},
	{slug: "network_ecpc", label: "eCPC (Network)", kind: money, formula: "network_cost/network_clicks"},
	{slug: "network_ad_spend_skan", label: "Ad spend (SKAN)", kind: money, row: onIOS(networkSpend + "*2/5")},

	{slug: "skad_installs", label: "Installs (SKAN)", row: skadInstalls},
	{slug: "skad_reinstalls", label: "Reinstalls (SKAN)", row: onIOS("(1-d.organic)*" + share("f.installs", 70_000, 47))},
	{slug: "skad_total_installs", label: "Total installs (SKAd)", formula: "skad_installs+skad_reinstalls"},
	{slug: "valid_conversions", label: "Valid conversions", row: onIOS("(1-d.organic)*" + share("f.installs", 480_000, 53))},

	// Dated by install, accumulated to now.
	{slug: "cohort_revenue", label: "Revenue (Cohort)", kind: money, row: "{until_now:revenue}"},
	{slug: "cohort_ad_revenue", label: "Ad Revenue (Cohort)", kind: money, row: "{until_now:ad_revenue}"},
	{slug: "uninstall_cohort", label: "Uninstall (Cohort)", row: "{until_now:uninstalls}"},
	{slug: "cohort_all_revenue", label: "All Revenue (Cohort)", kind: money, formula: "cohort_revenue+cohort_ad_revenue"},
	{slug: "cohort_gross_profit", label: "Gross profit (Cohort)", kind: money, formula: "cohort_all_revenue-cost"},
	{slug: "return_on_investment", label: "Return On Investment (ROI)", kind: ratio, formula: "cohort_gross_profit/cost"},
	{slug: "revenue_to_cost", label: "Revenue To Cost Ratio (RCR)", kind: decimal, formula: "cohort_revenue/cost"},
	{slug: "roas", label: "ROAS", kind: ratio, formula: "(cohort_revenue+cohort_ad_revenue)/cost"},
	{slug: "roas_ad", label: "ROAS (Ad Revenue)", kind: ratio, formula: "cohort_ad_revenue/cost"},
	{slug: "roas_iap", label: "ROAS (IAP Revenue)", kind: ratio, formula: "cohort_revenue/cost"},
}

// hiddenMetrics serve formulas and can't be asked for.
var hiddenMetrics = []metricDef{
	{slug: "daily_users", row: "f.dau"},
	{slug: "active_days", row: "{active_days}"},
}

// share is a part of a base column in parts per million, rounded up or down by the row's salt: small rows keep their
// expectation, and the same row always rounds the same way. Different factors keep metrics apart.
func share(column string, ppm, factor int) string {
	return fmt.Sprintf("((%s*%d+(f.salt*%d)%%1000000)/1000000)", column, ppm, factor)
}

func onIOS(row string) string { return "(CASE WHEN d.os_name='ios' THEN " + row + " ELSE 0 END)" }

const skadInstalls = "(CASE WHEN d.os_name='ios' AND d.organic=0 THEN (f.installs*700000+(f.salt*59)%1000000)/1000000 ELSE 0 END)"

// networkSpend is the network's ad spend as it says at the day's age: off by net_drift at first, final when
// the day is 14 days old.
const networkSpend = "(f.net_spend+f.net_spend*f.net_drift/1000000*max(0,14-{age})/14)"
