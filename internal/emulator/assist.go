package emulator

// An install is assisted when another network's engagement came before the one that it is credited to. Organic installs
// have no such engagement.
var (
	assistedInstalls       = "((1-d.organic)*" + share("f.installs", 220_000, 211) + ")"
	assistedReattributions = "((1-d.organic)*" + share(reattributions, 190_000, 233) + ")"
)

var assistMetrics = []metricDef{
	{slug: "click_based_qualifiers", label: "Assisting Clicks", section: "Conversion", row: share(assistedInstalls, 1_400_000, 277)},
	{slug: "impression_based_qualifiers", label: "Assisting Impressions", section: "Conversion", row: share(assistedInstalls, 2_600_000, 281)},
	{slug: "qualifiers", label: "Assisting Engagements", section: "Conversion", formula: "click_based_qualifiers+impression_based_qualifiers"},
	{slug: "assisted_installs", label: "Assisted Installs", section: "Conversion", row: assistedInstalls},
	{slug: "base_assisted_installs", label: "Assisted Installs", section: "Conversion", hidden: true, row: assistedInstalls},
	{slug: "network_assisted_installs", label: "Assisted Installs (Network)", section: "Conversion", hidden: true, row: share(assistedInstalls, 930_000, 257)},
	{slug: "campaign_assisted_installs", label: "Assisted Installs (Campaign)", section: "Conversion", hidden: true, row: share(assistedInstalls, 870_000, 263)},
	{slug: "adgroup_assisted_installs", label: "Assisted Installs (Adgroup)", section: "Conversion", hidden: true, row: share(assistedInstalls, 810_000, 269)},
	{slug: "creative_assisted_installs", label: "Assisted Installs (Creative)", section: "Conversion", hidden: true, row: share(assistedInstalls, 760_000, 271)},
	{slug: "click_based_reattribution_qualifiers", label: "Assisting Clicks for Reattributions", section: "Conversion", row: share(assistedReattributions, 1_300_000, 293)},
	{slug: "impression_based_reattribution_qualifiers", label: "Assisting Impressions for Reattributions", section: "Conversion", row: share(assistedReattributions, 2_200_000, 307)},
	{slug: "reattribution_qualifiers", label: "Assisting Engagements for Reattributions", section: "Conversion", formula: "click_based_reattribution_qualifiers+impression_based_reattribution_qualifiers"},
	{slug: "assisted_reattributions", label: "Assisted Reattributions", section: "Conversion", row: assistedReattributions},
	{slug: "qualifiers_per_assisted_installs", label: "Average Engagements per Assisted Install", kind: decimal, section: "Conversion", formula: "qualifiers/assisted_installs"},
	{slug: "impression_based_qualifiers_per_assisted_installs", label: "Average Impressions per Assisted Install", kind: decimal, section: "Conversion", formula: "impression_based_qualifiers/assisted_installs"},
	{slug: "click_based_qualifiers_per_assisted_installs", label: "Average Clicks per Assisted Install", kind: decimal, section: "Conversion", formula: "click_based_qualifiers/assisted_installs"},
	{slug: "non_assisted_installs", label: "Non-Assisted Installs", section: "Conversion", formula: "installs-assisted_installs"},
}
