package emulator

// Counts that more than one metric is cut from.
var (
	reinstalls     = share("f.installs", 90_000, 11)
	reattributions = share("f.installs", 60_000, 7)
	uninstalls     = share("f.installs", 350_000, 13)
)

var conversionMetrics = []metricDef{
	{slug: "clicks", label: "Clicks", section: "Conversion", row: "f.clicks"},
	{slug: "attribution_clicks", label: "Clicks (Attribution)", section: "Conversion", row: "f.clicks"},
	{slug: "impressions", label: "Impressions", section: "Conversion", row: "f.impressions"},
	{slug: "attribution_impressions", label: "Impressions (Attribution)", section: "Conversion", row: "f.impressions"},
	{slug: "installs", label: "Installs", section: "Conversion", row: "f.installs"},
	{slug: "organic_install_rate", label: "Organic install rate", kind: ratio, section: "Conversion", formula: "organic_installs/installs"},
	{slug: "reinstalls", label: "Reinstalls", section: "Conversion", row: reinstalls},
	{slug: "ctr", label: "CTR", kind: ratio, section: "Conversion", formula: "clicks/impressions"},
	{slug: "uninstalls", label: "Uninstalls", section: "Conversion", row: uninstalls},
	{slug: "uninstall_cohort", label: "Uninstall (Cohort)", section: "Conversion", row: "{until_now:uninstalls}"},
	{slug: "reattributions", label: "Reattributions", section: "Conversion", row: reattributions},
	{slug: "reattribution_reinstalls", label: "Reattribution Reinstalls", section: "Conversion", row: share(reattributions, 150_000, 157)},
	{slug: "deattributions", label: "Deattributions", section: "Conversion", row: share("f.installs", 30_000, 17)},
	{slug: "sessions", label: "Sessions", section: "Conversion", formula: "base_sessions+installs+reattributions"},
	{slug: "daus", label: "Avg. DAUs", kind: decimal, section: "Conversion", formula: "daily_users/active_days"},
	{slug: "waus", label: "Avg. WAUs", kind: decimal, section: "Conversion", formula: "daily_users*3/active_days"},
	{slug: "maus", label: "Avg. MAUs", kind: decimal, section: "Conversion", formula: "daily_users*7/active_days"},
	{slug: "kpi_daus", label: "Avg. DAUs", kind: decimal, section: "Conversion", hidden: true, formula: "daus"},
	{slug: "kpi_waus", label: "Avg. WAUs", kind: decimal, section: "Conversion", hidden: true, formula: "waus"},
	{slug: "kpi_maus", label: "Avg. MAUs", kind: decimal, section: "Conversion", hidden: true, formula: "maus"},
	{slug: "limit_ad_tracking_installs", label: "Limit Ad Tracking Installs", section: "Conversion", row: share("f.installs", 180_000, 23)},
	{slug: "limit_ad_tracking_reattributions", label: "Limit Ad Tracking Reattributions", section: "Conversion", row: share(reattributions, 200_000, 167)},
	{slug: "gdpr_forgets", label: "GDPR Forgets", section: "Conversion", row: share("f.installs", 2_000, 19)},
	{slug: "installs_per_mile", label: "Installs per Mille (IPM)", section: "Conversion", formula: "(installs*1000)/impressions"},
	{slug: "click_conversion_rate", label: "Click Conversion Rate (CCR)", kind: ratio, section: "Conversion", formula: "installs/clicks"},
	{slug: "impression_conversion_rate", label: "Impression Conversion Rate (ICR)", kind: ratio, section: "Conversion", formula: "installs/impressions"},
	{slug: "limit_ad_tracking_install_rate", label: "Limit Ad Tracking Rate", kind: ratio, section: "Conversion", formula: "limit_ad_tracking_installs/installs"},
	{slug: "limit_ad_tracking_reattribution_rate", label: "Limit Ad Tracking Reattribution Rate", kind: ratio, section: "Conversion", formula: "limit_ad_tracking_reattributions/reattributions"},
	{slug: "base_sessions", label: "Base Sessions", section: "Conversion", row: "f.sessions"},
	{slug: "first_reinstalls", label: "First Reinstalls", section: "Conversion", row: share(reinstalls, 800_000, 151)},
	{slug: "first_uninstalls", label: "First Uninstalls", section: "Conversion", row: share(uninstalls, 850_000, 163)},
	{slug: "organic_installs", label: "Organic Installs", section: "Conversion", row: "d.organic*f.installs"},
	{slug: "non_organic_installs", label: "Non-Organic Installs", section: "Conversion", row: "(1-d.organic)*f.installs"},
	{slug: "subscriptions", label: "Subscriptions", section: "Conversion", formula: "subscrevnt_activation_events"},
	{slug: "trials", label: "Trials", section: "Conversion", formula: "subscrevnt_trial_started_events"},
	{slug: "renewals", label: "Renewals", section: "Conversion", formula: "subscrevnt_renewal_events"},
	{slug: "offers", label: "Offers", section: "Conversion", formula: "subscrevnt_discounted_offer_events"},
	{slug: "cancels", label: "Cancels", section: "Conversion", formula: "subscrevnt_cancellation_events"},
	{slug: "events", label: "Total Events", section: "Events", row: share("f.dau", 4_200_000, 31)},

	// App tracking transparency: the four answers add up to the installs on iOS.
	{slug: "att_status_authorized", label: "ATT Status Authorized", section: "Conversion", row: onIOS(part("f.installs", 0, 310_000, 29))},
	{slug: "att_status_denied", label: "ATT Status Denied", section: "Conversion", row: onIOS(part("f.installs", 310_000, 830_000, 29))},
	{slug: "att_status_non_determined", label: "ATT Status Non-Determined", section: "Conversion", row: onIOS(part("f.installs", 830_000, 970_000, 29))},
	{slug: "att_status_restricted", label: "ATT Status Restricted", section: "Conversion", row: onIOS(part("f.installs", 970_000, 1_000_000, 29))},
	{slug: "att_consent_rate", label: "ATT Consent Rate", kind: ratio, section: "Conversion", formula: "att_status_authorized/(att_status_denied+att_status_authorized)"},

	{slug: "redownload_installs", label: "Redownload Installs", section: "Conversion", row: onIOS(share("f.installs", 40_000, 173))},
	{slug: "redownload_deinstalls", label: "Redownload Deinstalls", section: "Conversion", row: onIOS(share("f.installs", 22_000, 179))},
	{slug: "redownload_reattributions", label: "Redownload Reattributions", section: "Conversion", row: onIOS(share("f.installs", 9_000, 181))},
	{slug: "redownload_sessions", label: "Redownload Sessions", section: "Conversion", row: onIOS(share("f.sessions", 14_000, 191))},
}

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
