package metrics

// SQL for what networks report themselves, by way of the ad spend API.
var (
	networkInstalls    = "(d.has_network*" + share("f.installs", 1_040_000, 37) + ")"
	networkClicks      = "(d.has_network*" + share("f.clicks", 1_110_000, 41) + ")"
	networkImpressions = "(d.has_network*" + share("f.impressions", 1_070_000, 43) + ")"
	skanSpend          = onIOS(networkSpend + "*2/5")
)

// networkSpend is SQL for the ad spend that the network reports when the day has its present age:
// off by net_drift at first, final when the day is 14 days old. unknownSpend is its part of unknown
// source.
const (
	networkSpend = "(f.net_spend+f.net_spend*f.net_drift/1000000*max(0,14-{age})/14)"
	unknownSpend = "(" + networkSpend + "/50)"
)

// networkMetrics are networks' own numbers. The SKAN, non-SKAN and unknown parts of each quantity
// add up to the whole.
var networkMetrics = []Metric{
	{Slug: "network_cost", Label: "Ad Spend (Network)", Kind: Money, Section: "Cost", Row: networkSpend},
	{Slug: "network_installs", Label: "Installs (Network)", Section: "Conversion", Row: networkInstalls},
	{Slug: "network_impressions", Label: "Impressions (Network)", Section: "Conversion", Row: networkImpressions},
	{Slug: "network_clicks", Label: "Clicks (Network)", Section: "Conversion", Row: networkClicks},
	{Slug: "network_ctr", Label: "CTR (Network)", Kind: Ratio, Section: "Conversion",
		Formula: "network_clicks/network_impressions"},
	{Slug: "network_cost_diff", Label: "Ad Spend Diff (Network)", Kind: Decimal, Section: "Cost",
		Formula: "abs(network_cost-adjust_cost)"},
	{Slug: "network_installs_diff", Label: "Installs Diff (Network)", Section: "Conversion",
		Formula: "abs(network_installs-installs)"},
	{Slug: "network_ecpi", Label: "eCPI (Network)", Kind: Money, Section: "Conversion",
		Formula: "network_cost/network_installs"},
	{Slug: "network_ecpm", Label: "eCPM (Network)", Kind: Money, Section: "Conversion",
		Formula: "(network_cost/network_impressions)*1000"},
	{Slug: "network_ecpc", Label: "eCPC (Network)", Kind: Money, Section: "Conversion",
		Formula: "network_cost/network_clicks"},
	{Slug: "network_ad_spend_skan", Label: "Ad spend (SKAN)", Kind: Money, Section: "Cost", Row: skanSpend},
	{Slug: "network_impressions_skan", Label: "Impressions (Network SKAN)", Section: "Cost", Hidden: true,
		Row: onIOS(part(networkImpressions, 0, 400_000, 239))},
	{Slug: "network_clicks_skan", Label: "Clicks (Network SKAN)", Section: "Cost", Hidden: true,
		Row: onIOS(part(networkClicks, 0, 400_000, 241))},
	{Slug: "network_installs_skan", Label: "Installs (Network SKAN)", Section: "Cost", Hidden: true,
		Row: onIOS(part(networkInstalls, 0, 400_000, 251))},
	{Slug: "network_ad_spend_non_skan", Label: "Ad Spend (Network non-SKAN)", Kind: Money, Section: "Cost",
		Hidden: true, Row: networkSpend + "-" + skanSpend + "-" + unknownSpend},
	{Slug: "network_impressions_non_skan", Label: "Impressions (Network non-SKAN)", Section: "Cost", Hidden: true,
		Row: networkImpressions + "-" + onIOS(part(networkImpressions, 0, 400_000, 239)) + "-" +
			part(networkImpressions, 400_000, 420_000, 239)},
	{Slug: "network_clicks_non_skan", Label: "Clicks (Network non-SKAN)", Section: "Cost", Hidden: true,
		Row: networkClicks + "-" + onIOS(part(networkClicks, 0, 400_000, 241)) + "-" + part(networkClicks, 400_000,
			420_000, 241)},
	{Slug: "network_installs_non_skan", Label: "Installs (Network non-SKAN)", Section: "Cost", Hidden: true,
		Row: networkInstalls + "-" + onIOS(part(networkInstalls, 0, 400_000, 251)) + "-" + part(networkInstalls,
			400_000, 420_000, 251)},
	{Slug: "network_ad_spend_unknown", Label: "Ad Spend (Network unknown source)", Kind: Money, Section: "Cost",
		Hidden: true, Row: unknownSpend},
	{Slug: "network_impressions_unknown", Label: "Impressions (Network unknown source)", Section: "Cost", Hidden: true,
		Row: part(networkImpressions, 400_000, 420_000, 239)},
	{Slug: "network_clicks_unknown", Label: "Clicks (Network unknown source)", Section: "Cost", Hidden: true,
		Row: part(networkClicks, 400_000, 420_000, 241)},
	{Slug: "network_installs_unknown", Label: "Installs (Network unknown source)", Section: "Cost", Hidden: true,
		Row: part(networkInstalls, 400_000, 420_000, 251)},
	{Slug: "skad_ecpi", Label: "eCPI (SKAN)", Kind: Decimal, Section: "Cost",
		Formula: "network_ad_spend_skan/skad_installs"},
	{Slug: "ad_spend_network", Label: "Ad Spend (Network)", Kind: Money, Section: "Cost", Hidden: true,
		Formula: "network_cost"},

	{Slug: "network_installs_diff_signed", Label: "Installs Diff Signed (Network)", Section: "Conversion",
		Formula: "network_installs-installs"},
	// The documents' own example of metrics spells it so.
	{Slug: "ecpi_network", Label: "eCPI (Network)", Kind: Money, Section: "Conversion", Hidden: true,
		Formula: "network_ecpi"},
}
