package emulator

// What networks report themselves, by way of the ad spend API.
var (
	networkInstalls    = "(d.has_network*" + share("f.installs", 1_040_000, 37) + ")"
	networkClicks      = "(d.has_network*" + share("f.clicks", 1_110_000, 41) + ")"
	networkImpressions = "(d.has_network*" + share("f.impressions", 1_070_000, 43) + ")"
	skanSpend          = onIOS(networkSpend + "*2/5")
)

// networkSpend is the network's ad spend as it says at the day's age: off by net_drift at first, final when
// the day is 14 days old.
const (
	networkSpend = "(f.net_spend+f.net_spend*f.net_drift/1000000*max(0,14-{age})/14)"
	unknownSpend = "(" + networkSpend + "/50)"
)

// Of each quantity, the SKAN, non-SKAN and unknown parts add up to the whole.
var networkMetrics = []metricDef{
	{slug: "network_cost", label: "Ad Spend (Network)", kind: money, section: "Cost", row: networkSpend},
	{slug: "network_installs", label: "Installs (Network)", section: "Conversion", row: networkInstalls},
	{slug: "network_impressions", label: "Impressions (Network)", section: "Conversion", row: networkImpressions},
	{slug: "network_clicks", label: "Clicks (Network)", section: "Conversion", row: networkClicks},
	{slug: "network_ctr", label: "CTR (Network)", kind: ratio, section: "Conversion", formula: "network_clicks/network_impressions"},
	{slug: "network_cost_diff", label: "Ad Spend Diff (Network)", kind: decimal, section: "Cost", formula: "abs(network_cost-adjust_cost)"},
	{slug: "network_installs_diff", label: "Installs Diff (Network)", section: "Conversion", formula: "abs(network_installs-installs)"},
	{slug: "network_ecpi", label: "eCPI (Network)", kind: money, section: "Conversion", formula: "network_cost/network_installs"},
	{slug: "network_ecpm", label: "eCPM (Network)", kind: money, section: "Conversion", formula: "(network_cost/network_impressions)*1000"},
	{slug: "network_ecpc", label: "eCPC (Network)", kind: money, section: "Conversion", formula: "network_cost/network_clicks"},
	{slug: "network_ad_spend_skan", label: "Ad spend (SKAN)", kind: money, section: "Cost", row: skanSpend},
	{slug: "network_impressions_skan", label: "Impressions (Network SKAN)", section: "Cost", hidden: true, row: onIOS(part(networkImpressions, 0, 400_000, 239))},
	{slug: "network_clicks_skan", label: "Clicks (Network SKAN)", section: "Cost", hidden: true, row: onIOS(part(networkClicks, 0, 400_000, 241))},
	{slug: "network_installs_skan", label: "Installs (Network SKAN)", section: "Cost", hidden: true, row: onIOS(part(networkInstalls, 0, 400_000, 251))},
	{slug: "network_ad_spend_non_skan", label: "Ad Spend (Network non-SKAN)", kind: money, section: "Cost", hidden: true, row: networkSpend + "-" + skanSpend + "-" + unknownSpend},
	{slug: "network_impressions_non_skan", label: "Impressions (Network non-SKAN)", section: "Cost", hidden: true, row: networkImpressions + "-" + onIOS(part(networkImpressions, 0, 400_000, 239)) + "-" + part(networkImpressions, 400_000, 420_000, 239)},
	{slug: "network_clicks_non_skan", label: "Clicks (Network non-SKAN)", section: "Cost", hidden: true, row: networkClicks + "-" + onIOS(part(networkClicks, 0, 400_000, 241)) + "-" + part(networkClicks, 400_000, 420_000, 241)},
	{slug: "network_installs_non_skan", label: "Installs (Network non-SKAN)", section: "Cost", hidden: true, row: networkInstalls + "-" + onIOS(part(networkInstalls, 0, 400_000, 251)) + "-" + part(networkInstalls, 400_000, 420_000, 251)},
	{slug: "network_ad_spend_unknown", label: "Ad Spend (Network unknown source)", kind: money, section: "Cost", hidden: true, row: unknownSpend},
	{slug: "network_impressions_unknown", label: "Impressions (Network unknown source)", section: "Cost", hidden: true, row: part(networkImpressions, 400_000, 420_000, 239)},
	{slug: "network_clicks_unknown", label: "Clicks (Network unknown source)", section: "Cost", hidden: true, row: part(networkClicks, 400_000, 420_000, 241)},
	{slug: "network_installs_unknown", label: "Installs (Network unknown source)", section: "Cost", hidden: true, row: part(networkInstalls, 400_000, 420_000, 251)},
	{slug: "skad_ecpi", label: "eCPI (SKAN)", kind: decimal, section: "Cost", formula: "network_ad_spend_skan/network_installs_skan"},
	{slug: "ad_spend_network", label: "Ad Spend (Network)", kind: money, section: "Cost", hidden: true, formula: "network_cost"},

	{slug: "network_installs_diff_signed", label: "Installs Diff Signed (Network)", section: "Conversion", formula: "network_installs-installs"},
	{slug: "ecpi_network", label: "eCPI (Network)", kind: money, section: "Conversion", hidden: true, formula: "network_ecpi"}, // so the documents' own example of metrics
}
