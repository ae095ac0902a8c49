package emulator

// eventMetrics are the families of one event {e}. xe is its row in app_events, joined per app; an app without the event
// has rate 0. Source: the service's metrics glossary. Cohort rows take events per install from the same rate. The four
// outcomes of verification add up to the events, because each is cut from one running share.
var eventMetrics = []metricDef{
	{slug: "{e}_{p}_events_cohort", label: "{P} {E} (Events)", section: "Events", row: "{until_end:event}"},
	{slug: "{e}_{p}_revenue_cohort", label: "{P} {E} (Revenue)", kind: money, section: "Events", row: "{until_end:event}*xe.price"},
	{slug: "{e}_{p}_events_per_period", label: "{P} {E} (Events per Period)", section: "Events", row: "{inside:event}"},
	{slug: "{e}_{p}_revenue_per_period", label: "{P} {E} (Event Revenue per Period)", kind: money, section: "Events", row: "{inside:event}*xe.price"},
	{slug: "{e}_{p}_conversions_cohort", label: "{P} {E} (Conversions)", section: "Events", row: "{until_end:converted}"},
	{slug: "{e}_{p}_converted_user_size_cohort", label: "{P} {E} (Converted User Size)", section: "Events", row: "{until_now:converted}"},
	{slug: "{e}_{p}_conversions_per_period", label: "{P} {E} (Conversions per Period)", section: "Events", row: "{inside:converted}"},
	{slug: "{e}_{p}_converted_user_size_per_period", label: "{P} {E} (Converted User Size per Period)", section: "Events", row: "{until_now:converted}"},
	{slug: "{e}_{p}_conversion_distribution_cohort", label: "{P} {E} (Conversion Distribution)", kind: ratio, section: "Events", formula: "{e}_{p}_conversions_cohort/{e}_{p}_converted_user_size_cohort"},
	{slug: "{e}_{p}_events_cost_cohort", label: "{P} Cost per {E} (Events)", kind: decimal, section: "Events", formula: "cost/{e}_{p}_events_cohort"},
	{slug: "{e}_{p}_conversions_cost_cohort", label: "{P} Cost per {E} (Conversions)", kind: decimal, section: "Events", formula: "cost/{e}_{p}_conversions_cohort"},
	{slug: "{e}_{p}_events_rate_cohort", label: "{P} {E} Rate (Events)", kind: ratio, section: "Events", formula: "{e}_{p}_events_cohort/installs"},
	{slug: "{e}_{p}_conversions_rate_cohort", label: "{P} {E} Rate (Conversions)", kind: ratio, section: "Events", formula: "{e}_{p}_conversions_cohort/installs"},
	{slug: "{e}_{p}_events_per_conversion_cohort", label: "{P} {E} Events per Conversion", kind: decimal, section: "Events", formula: "{e}_{p}_events_cohort/{e}_{p}_conversions_cohort"},
	{slug: "{e}_{p}_events_per_reattribution_cohort", label: "{P} {E} per Reattribution", kind: decimal, section: "Events", formula: "{e}_{p}_events_cohort/reattributions"},
	{slug: "{e}_{p}_conversions_per_reattribution_cohort", label: "{P} {E} Conversions per Reattributions", kind: decimal, section: "Events", formula: "{e}_{p}_conversions_cohort/reattributions"},
	{slug: "{e}_{p}_revenue_per_conversion_cohort", label: "{P} {E} Revenue per Conversion", kind: money, section: "Events", formula: "{e}_{p}_revenue_cohort/{e}_{p}_conversions_cohort"},
	{slug: "{e}_events", label: "{E}", section: "Events", row: evEvents},
	{slug: "{e}_revenue", label: "{E} (In-app revenue)", kind: money, section: "Events", row: evEvents + "*xe.price"},
	{slug: "{e}_events_cost_noncohorted", label: "Cost per {E} (deliverables)", kind: money, section: "Events", formula: "cost/{e}_events"},
	{slug: "{e}_events_min", label: "{E} (Min)", section: "Events", row: evSkadEst + "*4/5"},
	{slug: "{e}_events_max", label: "{E} (Max)", section: "Events", row: "(" + evSkadEst + "*6+4)/5"},
	{slug: "{e}_events_est", label: "{E} (Average)", section: "Events", row: evSkadEst},
	{slug: "{e}_revenue_min", label: "{E} (Min Revenue)", kind: money, section: "Events", row: evSkadEst + "*xe.price/10*7"},
	{slug: "{e}_revenue_max", label: "{E} (Max Revenue)", kind: money, section: "Events", row: evSkadEst + "*xe.price/10*13"},
	{slug: "{e}_revenue_est", label: "{E} (Average Revenue)", kind: money, section: "Events", row: evSkadEst + "*xe.price"},
	{slug: "{e}_skad_event_conversion_rate", label: "{E} (Conversion rate)", kind: ratio, section: "Events", formula: "{e}_events_est/skad_total_installs"},
	{slug: "{e}_skan_ecpa", label: "{E} (eCPA (SKAN))", kind: decimal, section: "Events", formula: "(network_ad_spend_skan*valid_conversions)/({e}_events_est*skad_installs)"},
	{slug: "{e}_events_not_verified", label: "{E} (Not Verified Events)", section: "Events", row: evUnverified},
	{slug: "{e}_revenue_not_verified", label: "{E} (Not Verified Revenue)", kind: money, section: "Events", row: evUnverified + "*xe.price"},
	{slug: "{e}_events_verified_passed", label: "{E} (Verified Passed Events)", section: "Events", row: evPassed},
	{slug: "{e}_revenue_verified_passed", label: "{E} (Verified Passed Revenue)", kind: money, section: "Events", row: evPassed + "*xe.price"},
	{slug: "{e}_events_verified_failed", label: "{E} (Verified Failed Events)", section: "Events", row: evFailed},
	{slug: "{e}_revenue_verified_failed", label: "{E} (Verfied Failed Revenue)", kind: money, section: "Events", row: evFailed + "*xe.price"},
	{slug: "{e}_events_verified_unknown", label: "{E} (Verified Unknown Events)", section: "Events", row: evUnknown},
	{slug: "{e}_revenue_verified_unknown", label: "{E} (Verified Unknown Revenue)", kind: money, section: "Events", row: evUnknown + "*xe.price"},
	{slug: "{e}_skan_event_ecr_min", label: "{E} (Event Conversion Rate, Min)", kind: ratio, section: "Events", formula: "{e}_events_min/skad_total_installs"},
	{slug: "{e}_skan_event_ecr_est", label: "{E} (Event Conversion Rate, Average)", kind: ratio, section: "Events", formula: "{e}_events_est/skad_total_installs"},
	{slug: "{e}_skan_event_ecr_max", label: "{E} (Event Conversion Rate, Max)", kind: ratio, section: "Events", formula: "{e}_events_max/skad_total_installs"},
	{slug: "{e}_skan_event_rpu_min", label: "{E} (Revenue per User, Min)", kind: money, section: "Events", formula: "{e}_revenue_min/skad_total_installs"},
	{slug: "{e}_skan_event_rpu_est", label: "{E} (Revenue per User, Average)", kind: money, section: "Events", formula: "{e}_revenue_est/skad_total_installs"},
	{slug: "{e}_skan_event_rpu_max", label: "{E} (Revenue per User, Max)", kind: money, section: "Events", formula: "{e}_revenue_max/skad_total_installs"},
}

// evEvents is an app's active users times the event's rate, in millionths of an event; evCut rounds a share of the events.
var (
	evEvents  = "((f.dau*xe.rate+(f.salt*(xe.event*2+107))%1000000)/1000000)"
	evSkadEst = "((" + skadInstalls + "*xe.rate*3+(f.salt*(xe.event*2+109))%1000000)/1000000)"

	evCut70 = "((" + evEvents + "*70+f.salt%100)/100)"
	evCut76 = "((" + evEvents + "*76+f.salt%100)/100)"
	evCut83 = "((" + evEvents + "*83+f.salt%100)/100)"

	evPassed     = evCut70
	evFailed     = "(" + evCut76 + "-" + evCut70 + ")"
	evUnknown    = "(" + evCut83 + "-" + evCut76 + ")"
	evUnverified = "(" + evEvents + "-" + evCut83 + ")"
)

// eventBases are what a cohort does with one event: all of it, and each user's first.
var eventBases = []cohortBase{
	{"event", count, "f.installs*xe.rate*6", 12, 113},
	{"converted", count, "f.installs*min(900000,xe.rate*2)", 5, 127},
}
