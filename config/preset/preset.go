// Package preset has the tables that most people want first, as data. Without it, everybody would
// choose dimensions and metrics from a list of hundreds, and learn from wrong dashboards which of
// them can't be added up.
//
//	Preset ── Jobs ── init ── config/draft ── the config of a person, who changes it from there
//
// A preset says what a table holds, and leaves out whatever depends on the person: sinks, currency,
// schedule, zone and apps. Almost all metrics are amounts and counts, because these add up over any
// rows; a ratio is a division of two sums, and the comments above a job say which.
package preset

import "github.com/reportferry/reportferry/config/draft"

// A Preset is some tables that answer questions of one kind.
type Preset struct {
	Name    string
	Summary string // a sentence of less than a line
	Jobs    []draft.Job
}

// All returns the presets, in the order in which people read them.
func All() []Preset { return []Preset{spend(), cohorts(), events(), adRevenue()} }

// Named finds a preset by its name.
func Named(name string) (Preset, bool) {
	for _, p := range All() {
		if p.Name == name {
			return p, true
		}
	}
	return Preset{}, false
}

// mixed is a key of a job: it says which source of ad spend counts. Every table that has ad spend
// has it.
var mixed = draft.Key{Name: "ad_spend_mode", Value: "mixed", Comment: "the networks' figures where there are any"}

func spend() Preset {
	return Preset{"spend", "What networks and campaigns cost, and the installs that they bring", []draft.Job{{
		Comment: []string{
			"Ad spend and installs by network and country. Every column adds up; eCPI",
			"is sum(cost) / nullif(sum(installs), 0).",
		},
		Name: "network_spend_daily", Start: "-60d",
		Dimensions: []string{"day", "app", "app_token", "os_name", "country_code", "network"},
		Metrics: []string{
			"impressions", "clicks", "installs", "reattributions", "paid_installs", "cost", "adjust_cost",
			"network_cost", "all_revenue",
		},
		More: []draft.Key{mixed},
	}, {
		Comment: []string{
			"The same by campaign and ad group. Campaigns are renamed; their IDs,",
			"campaign_id_network and adgroup_id_network, stay.",
		},
		Name: "campaign_spend_daily", Start: "-60d",
		Dimensions: []string{
			"day", "app", "app_token", "os_name", "network", "campaign_network", "campaign_id_network",
			"adgroup_network", "adgroup_id_network",
		},
		Metrics: []string{"impressions", "clicks", "installs", "paid_installs", "cost", "adjust_cost", "network_cost",
			"all_revenue"},
		More: []draft.Key{mixed},
	}}}
}

func cohorts() Preset {
	return Preset{"cohorts", "Who comes back, and what users bring within 30 days: retention, ROAS", []draft.Job{{
		Comment: []string{
			"Users by the day of their install; d7 is the seventh day after it. ROAS is",
			"sum(all_revenue_total_d7) / nullif(sum(cost), 0), and retention is",
			"sum(retained_users_d7) / nullif(sum(cohort_size_d7), 0). A day is fetched",
			"again when each of these periods has passed for its users. A row for each",
			"period: reportferry views cohorts_daily --cohorts",
		},
		Name: "cohorts_daily", Start: "-90d",
		Dimensions: []string{"day", "app", "app_token", "os_name", "country_code", "network", "campaign"},
		Metrics: []string{
			"installs", "cost",
			"cohort_size_d1", "retained_users_d1", "cohort_size_d7", "retained_users_d7", "cohort_size_d30",
			"retained_users_d30",
			"all_revenue_total_d0", "all_revenue_total_d3", "all_revenue_total_d7", "all_revenue_total_d30",
			"ad_revenue_total_d7", "revenue_total_d7", "first_paying_users_total_d7",
		},
		More: []draft.Key{mixed},
	}, {
		Comment: []string{
			"The ratios as the service computes them, by week of install and network.",
			"They can't be added up or averaged: for other groups, divide the sums of",
			"cohorts_daily.",
		},
		Name: "roas_weekly", Start: "-112d",
		Dimensions: []string{"week", "app", "app_token", "network"},
		Metrics: []string{
			"installs", "cost", "all_revenue_total_d7", "all_revenue_total_d30", "roas_d0", "roas_d7", "roas_d30",
			"retention_rate_d1", "retention_rate_d7",
			"retention_rate_d30", "lifetime_value_d30",
		},
		More: []draft.Key{mixed},
	}}}
}

func events() Preset {
	return Preset{"events", "In-app events: how often each one happens, and its revenue", []draft.Job{{
		Comment: []string{"The account's events each day: which slug is which event, of which apps."},
		Name:    "event_slugs", Kind: "events",
	}, {
		Comment: []string{
			"Two columns for each event of the account, such as purchase_events and",
			"purchase_revenue; a new event becomes two more. For some events only, put",
			"entries such as {name: Purchase, metrics: [events, revenue], as: purchase}",
			"in the place of the one with the glob. The command events lists them all.",
			"A row for each event: reportferry views events_daily --events",
		},
		Name: "events_daily", Start: "-30d",
		Dimensions: []string{"day", "app", "app_token", "os_name", "network"},
		Metrics:    []string{"events", "revenue_events", "revenue"},
		More: []draft.Key{{Name: "events", Value: [][]draft.Key{{
			{Name: "glob", Value: "*"}, {Name: "metrics", Value: []string{"events", "revenue"}},
		}}}, {Name: "on_missing_event", Value: "null", Comment: "an event that is gone keeps its columns"}},
	}}}
}

func adRevenue() Preset {
	return Preset{"ad_revenue", "What ads that are shown in the apps earn, by country and by campaign", []draft.Job{{
		Comment: []string{
			"Ad revenue by country, on the day on which an ad was shown. RPM is",
			"1000 * sum(ad_revenue) / nullif(sum(ad_impressions), 0). daus are the users",
			"of one day; a sum over days counts them again.",
		},
		Name: "ad_revenue_daily", Start: "-60d",
		Dimensions: []string{"day", "app", "app_token", "os_name", "country_code"},
		Metrics:    []string{"ad_revenue", "ad_impressions", "revenue", "all_revenue", "sessions", "daus"},
	}, {
		Comment: []string{
			"Ad revenue by the campaign that brought the users: ad_revenue on the day of",
			"the ad, ad_revenue_total_d7 on the day of the install. ROAS of ads is",
			"sum(ad_revenue_total_d7) / nullif(sum(cost), 0).",
		},
		Name: "ad_revenue_campaigns_daily", Start: "-60d",
		Dimensions: []string{"day", "app", "app_token", "os_name", "network", "campaign"},
		Metrics: []string{
			"installs", "cost", "ad_revenue", "ad_impressions", "ad_revenue_total_d0", "ad_revenue_total_d7",
			"ad_revenue_total_d30", "ad_impressions_total_d7",
		},
		More: []draft.Key{mixed},
	}}}
}
