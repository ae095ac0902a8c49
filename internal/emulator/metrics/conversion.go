package metrics

// SQL for counts that more than one metric takes a share of.
var (
	reinstalls     = share("f.installs", 90_000, 11)
	reattributions = share("f.installs", 60_000, 7)
	uninstalls     = share("f.installs", 350_000, 13)
)

// conversionMetrics count clicks, impressions, installs and what users do after them.
var conversionMetrics = []Metric{
	{Slug: "clicks", Label: "Clicks", Section: "Conversion", Row: "f.clicks"},
	{Slug: "attribution_clicks", Label: "Clicks (Attribution)", Section: "Conversion", Row: "f.clicks"},
	{Slug: "impressions", Label: "Impressions", Section: "Conversion", Row: "f.impressions"},
	{Slug: "attribution_impressions", Label: "Impressions (Attribution)", Section: "Conversion", Row: "f.impressions"},
	{Slug: "installs", Label: "Installs", Section: "Conversion", Row: "f.installs"},
	{Slug: "organic_install_rate", Label: "Organic install rate", Kind: Ratio, Section: "Conversion",
		Formula: "organic_installs/installs"},
	{Slug: "reinstalls", Label: "Reinstalls", Section: "Conversion", Row: reinstalls},
	{Slug: "ctr", Label: "CTR", Kind: Ratio, Section: "Conversion", Formula: "clicks/impressions"},
	{Slug: "uninstalls", Label: "Uninstalls", Section: "Conversion", Row: uninstalls},
	{Slug: "uninstall_cohort", Label: "Uninstall (Cohort)", Section: "Conversion", Row: "{until_now:uninstalls}"},
	{Slug: "reattributions", Label: "Reattributions", Section: "Conversion", Row: reattributions},
	{Slug: "reattribution_reinstalls", Label: "Reattribution Reinstalls", Section: "Conversion",
		Row: share(reattributions, 150_000, 157)},
	{Slug: "deattributions", Label: "Deattributions", Section: "Conversion", Row: share("f.installs", 30_000, 17)},
	{Slug: "sessions", Label: "Sessions", Section: "Conversion", Formula: "base_sessions+installs+reattributions"},
	{Slug: "daus", Label: "Avg. DAUs", Kind: Decimal, Section: "Conversion", Formula: "daily_users/active_days"},
	{Slug: "waus", Label: "Avg. WAUs", Kind: Decimal, Section: "Conversion", Formula: "daily_users*3/active_days"},
	{Slug: "maus", Label: "Avg. MAUs", Kind: Decimal, Section: "Conversion", Formula: "daily_users*7/active_days"},
	{Slug: "kpi_daus", Label: "Avg. DAUs", Kind: Decimal, Section: "Conversion", Hidden: true, Formula: "daus"},
	{Slug: "kpi_waus", Label: "Avg. WAUs", Kind: Decimal, Section: "Conversion", Hidden: true, Formula: "waus"},
	{Slug: "kpi_maus", Label: "Avg. MAUs", Kind: Decimal, Section: "Conversion", Hidden: true, Formula: "maus"},
	{Slug: "limit_ad_tracking_installs", Label: "Limit Ad Tracking Installs", Section: "Conversion",
		Row: share("f.installs", 180_000, 23)},
	{Slug: "limit_ad_tracking_reattributions", Label: "Limit Ad Tracking Reattributions", Section: "Conversion",
		Row: share(reattributions, 200_000, 167)},
	{Slug: "gdpr_forgets", Label: "GDPR Forgets", Section: "Conversion", Row: share("f.installs", 2_000, 19)},
	{Slug: "installs_per_mile", Label: "Installs per Mille (IPM)", Section: "Conversion",
		Formula: "(installs*1000)/impressions"},
	{Slug: "click_conversion_rate", Label: "Click Conversion Rate (CCR)", Kind: Ratio, Section: "Conversion",
		Formula: "installs/clicks"},
	{Slug: "impression_conversion_rate", Label: "Impression Conversion Rate (ICR)", Kind: Ratio, Section: "Conversion",
		Formula: "installs/impressions"},
	{Slug: "limit_ad_tracking_install_rate", Label: "Limit Ad Tracking Rate", Kind: Ratio, Section: "Conversion",
		Formula: "limit_ad_tracking_installs/installs"},
	{Slug: "limit_ad_tracking_reattribution_rate", Label: "Limit Ad Tracking Reattribution Rate", Kind: Ratio,
		Section: "Conversion", Formula: "limit_ad_tracking_reattributions/reattributions"},
	{Slug: "base_sessions", Label: "Base Sessions", Section: "Conversion", Row: "f.sessions"},
	{Slug: "first_reinstalls", Label: "First Reinstalls", Section: "Conversion", Row: share(reinstalls, 800_000, 151)},
	{Slug: "first_uninstalls", Label: "First Uninstalls", Section: "Conversion", Row: share(uninstalls, 850_000, 163)},
	{Slug: "organic_installs", Label: "Organic Installs", Section: "Conversion", Row: "d.organic*f.installs"},
	{Slug: "non_organic_installs", Label: "Non-Organic Installs", Section: "Conversion",
		Row: "(1-d.organic)*f.installs"},
	{Slug: "subscriptions", Label: "Subscriptions", Section: "Conversion", Formula: "subscrevnt_activation_events"},
	{Slug: "trials", Label: "Trials", Section: "Conversion", Formula: "subscrevnt_trial_started_events"},
	{Slug: "renewals", Label: "Renewals", Section: "Conversion", Formula: "subscrevnt_renewal_events"},
	{Slug: "offers", Label: "Offers", Section: "Conversion", Formula: "subscrevnt_discounted_offer_events"},
	{Slug: "cancels", Label: "Cancels", Section: "Conversion", Formula: "subscrevnt_cancellation_events"},
	{Slug: "events", Label: "Total Events", Section: "Events", Row: share("f.dau", 4_200_000, 31)},

	// App tracking transparency: the four answers add up to the installs on iOS.
	{Slug: "att_status_authorized", Label: "ATT Status Authorized", Section: "Conversion",
		Row: onIOS(part("f.installs", 0, 310_000, 29))},
	{Slug: "att_status_denied", Label: "ATT Status Denied", Section: "Conversion",
		Row: onIOS(part("f.installs", 310_000, 830_000, 29))},
	{Slug: "att_status_non_determined", Label: "ATT Status Non-Determined", Section: "Conversion",
		Row: onIOS(part("f.installs", 830_000, 970_000, 29))},
	{Slug: "att_status_restricted", Label: "ATT Status Restricted", Section: "Conversion",
		Row: onIOS(part("f.installs", 970_000, 1_000_000, 29))},
	{Slug: "att_consent_rate", Label: "ATT Consent Rate", Kind: Ratio, Section: "Conversion",
		Formula: "att_status_authorized/(att_status_denied+att_status_authorized)"},

	{Slug: "redownload_installs", Label: "Redownload Installs", Section: "Conversion",
		Row: onIOS(share("f.installs", 40_000, 173))},
	{Slug: "redownload_deinstalls", Label: "Redownload Deinstalls", Section: "Conversion",
		Row: onIOS(share("f.installs", 22_000, 179))},
	{Slug: "redownload_reattributions", Label: "Redownload Reattributions", Section: "Conversion",
		Row: onIOS(share("f.installs", 9_000, 181))},
	{Slug: "redownload_sessions", Label: "Redownload Sessions", Section: "Conversion",
		Row: onIOS(share("f.sessions", 14_000, 191))},
}

// An install is assisted when another network's engagement came before the one that it is credited
// to. Organic installs have no such engagement. {credited} is 1 when a report tells apart what
// brought the users, such as networks. Each network then counts an install that several of them
// assisted, so that the rows come to more than the total; their engagements add up.
var (
	assistedInstalls       = "((1-d.organic)*" + share("f.installs", 220_000, 211) + ")"
	assistedReattributions = "((1-d.organic)*" + share(reattributions, 190_000, 233) + ")"
)

// byEach returns SQL for assisted installs or reattributions. When each network that assisted
// counts them, there are about 1.3 times as many, and at most all.
func byEach(assisted, all string) string {
	return "(CASE WHEN {credited}=1 THEN min(" + all + "," + share(assisted, 1_300_000,
		277) + ") ELSE " + assisted + " END)"
}

// assistMetrics count engagements that came before the credited one, and what they assisted.
var assistMetrics = []Metric{
	{Slug: "click_based_qualifiers", Label: "Assisting Clicks", Section: "Conversion",
		Row: share(assistedInstalls, 1_400_000, 277)},
	{Slug: "impression_based_qualifiers", Label: "Assisting Impressions", Section: "Conversion",
		Row: share(assistedInstalls, 2_600_000, 281)},
	{Slug: "qualifiers", Label: "Assisting Engagements", Section: "Conversion",
		Formula: "click_based_qualifiers+impression_based_qualifiers"},
	{Slug: "assisted_installs", Label: "Assisted Installs", Section: "Conversion",
		Row: byEach(assistedInstalls, "f.installs")},
	{Slug: "base_assisted_installs", Label: "Assisted Installs", Section: "Conversion", Hidden: true,
		Row: byEach(assistedInstalls, "f.installs")},
	{Slug: "network_assisted_installs", Label: "Assisted Installs (Network)", Section: "Conversion", Hidden: true,
		Row: share(assistedInstalls, 930_000, 257)},
	{Slug: "campaign_assisted_installs", Label: "Assisted Installs (Campaign)", Section: "Conversion", Hidden: true,
		Row: share(assistedInstalls, 870_000, 263)},
	{Slug: "adgroup_assisted_installs", Label: "Assisted Installs (Adgroup)", Section: "Conversion", Hidden: true,
		Row: share(assistedInstalls, 810_000, 269)},
	{Slug: "creative_assisted_installs", Label: "Assisted Installs (Creative)", Section: "Conversion", Hidden: true,
		Row: share(assistedInstalls, 760_000, 271)},
	{Slug: "click_based_reattribution_qualifiers", Label: "Assisting Clicks for Reattributions", Section: "Conversion",
		Row: share(assistedReattributions, 1_300_000, 293)},
	{Slug: "impression_based_reattribution_qualifiers", Label: "Assisting Impressions for Reattributions",
		Section: "Conversion", Row: share(assistedReattributions, 2_200_000, 307)},
	{Slug: "reattribution_qualifiers", Label: "Assisting Engagements for Reattributions", Section: "Conversion",
		Formula: "click_based_reattribution_qualifiers+impression_based_reattribution_qualifiers"},
	{Slug: "assisted_reattributions", Label: "Assisted Reattributions", Section: "Conversion",
		Row: byEach(assistedReattributions, reattributions)},
	{Slug: "qualifiers_per_assisted_installs", Label: "Average Engagements per Assisted Install", Kind: Decimal,
		Section: "Conversion", Formula: "qualifiers/assisted_installs"},
	{Slug: "impression_based_qualifiers_per_assisted_installs", Label: "Average Impressions per Assisted Install",
		Kind: Decimal, Section: "Conversion", Formula: "impression_based_qualifiers/assisted_installs"},
	{Slug: "click_based_qualifiers_per_assisted_installs", Label: "Average Clicks per Assisted Install", Kind: Decimal,
		Section: "Conversion", Formula: "click_based_qualifiers/assisted_installs"},
	{Slug: "non_assisted_installs", Label: "Non-Assisted Installs", Section: "Conversion",
		Formula: "installs-assisted_installs"},
}
