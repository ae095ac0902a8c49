package emulator

// eventMetrics are the families of one event {e}. xe is its row in app_events, joined per app; an app without the event
// has rate 0. Source: the service's metrics glossary. Cohort rows take events per install from the same rate.
var eventMetrics = []metricDef{
	{slug: "{e}_events", label: "{E}", row: evEvents},
	{slug: "{e}_revenue", label: "{E} (In-app revenue)", kind: money, row: evEvents + "*xe.price"},
	{slug: "{e}_events_cost_noncohorted", label: "Cost per {E} (deliverables)", kind: money, formula: "cost/{e}_events"},

	{slug: "{e}_events_min", label: "{E} (Min)", row: evSkadEst + "*4/5"},
	{slug: "{e}_events_est", label: "{E} (Average)", row: evSkadEst},
	{slug: "{e}_events_max", label: "{E} (Max)", row: "(" + evSkadEst + "*6+4)/5"},
	{slug: "{e}_revenue_min", label: "{E} (Min Revenue)", kind: money, row: evSkadEst + "*xe.price/10*7"},
	{slug: "{e}_revenue_est", label: "{E} (Average Revenue)", kind: money, row: evSkadEst + "*xe.price"},
	{slug: "{e}_revenue_max", label: "{E} (Max Revenue)", kind: money, row: evSkadEst + "*xe.price/10*13"},
	{slug: "{e}_skad_event_conversion_rate", label: "{E} (Conversion rate)", kind: ratio, formula: "{e}_events_est/skad_total_installs"},
	{slug: "{e}_skan_ecpa", label: "{E} (eCPA (SKAN))", kind: decimal, formula: "(network_ad_spend_skan*valid_conversions)/({e}_events_est*skad_installs)"},
	{slug: "{e}_skan_event_ecr_min", label: "{E} (Event conversion rate, min)", kind: ratio, formula: "{e}_events_min/skad_total_installs"},
	{slug: "{e}_skan_event_ecr_est", label: "{E} (Event conversion rate, average)", kind: ratio, formula: "{e}_events_est/skad_total_installs"},
	{slug: "{e}_skan_event_ecr_max", label: "{E} (Event conversion rate, max)", kind: ratio, formula: "{e}_events_max/skad_total_installs"},
	{slug: "{e}_skan_event_rpu_min", label: "{E} (Revenue per user, min)", kind: money, formula: "{e}_revenue_min/skad_total_installs"},
	{slug: "{e}_skan_event_rpu_est", label: "{E} (Revenue per user, average)", kind: money, formula: "{e}_revenue_est/skad_total_installs"},
	{slug: "{e}_skan_event_rpu_max", label: "{E} (Revenue per user, max)", kind: money, formula: "{e}_revenue_max/skad_total_installs"},

	// The four outcomes of verification add up to the events, because each is cut from one running share.
	{slug: "{e}_events_verified_passed", label: "{E} (Verified Passed Events)", row: evPassed},
	{slug: "{e}_revenue_verified_passed", label: "{E} (Verified Passed Revenue)", kind: money, row: evPassed + "*xe.price"},
	{slug: "{e}_events_verified_failed", label: "{E} (Verified Failed Events)", row: evFailed},
	{slug: "{e}_revenue_verified_failed", label: "{E} (Verfied Failed Revenue)", kind: money, row: evFailed + "*xe.price"},
	{slug: "{e}_events_verified_unknown", label: "{E} (Verified Unknown Events)", row: evUnknown},
	{slug: "{e}_revenue_verified_unknown", label: "{E} (Verified Unknown Revenue)", kind: money, row: evUnknown + "*xe.price"},
	{slug: "{e}_events_not_verified", label: "{E} (Not Verified Events)", row: evUnverified},
	{slug: "{e}_revenue_not_verified", label: "{E} (Not Verified Revenue)", kind: money, row: evUnverified + "*xe.price"},

	{slug: "{e}_{p}_events_cohort", label: "{P} {E} (Events)", row: "{until_end:event}"},
	{slug: "{e}_{p}_revenue_cohort", label: "{P} {E} (Revenue)", kind: money, row: "{until_end:event}*xe.price"},
	{slug: "{e}_{p}_conversions_cohort", label: "{P} {E} (Conversions)", row: "{until_end:converted}"},
	{slug: "{e}_{p}_converted_user_size_cohort", label: "{P} {E} (Converted User Size)", row: "{until_now:converted}"},
	{slug: "{e}_{p}_events_per_period", label: "{P} {E} (Events per Period)", row: "{inside:event}"},
	{slug: "{e}_{p}_revenue_per_period", label: "{P} {E} (Event Revenue per Period)", kind: money, row: "{inside:event}*xe.price"},
	{slug: "{e}_{p}_conversions_per_period", label: "{P} {E} (Conversions per Period)", row: "{inside:converted}"},
	{slug: "{e}_{p}_converted_user_size_per_period", label: "{P} {E} (Converted User Size per Period)", row: "{until_now:converted}"},
	{slug: "{e}_{p}_conversion_distribution_cohort", label: "{P} {E} (Conversion Distribution)", kind: ratio, formula: "{e}_{p}_conversions_cohort/{e}_{p}_converted_user_size_cohort"},
	{slug: "{e}_{p}_events_cost_cohort", label: "{P} Cost per {E} (Events)", kind: decimal, formula: "cost/{e}_{p}_events_cohort"},
	{slug: "{e}_{p}_conversions_cost_cohort", label: "{P} Cost per {E} (Conversions)", kind: decimal, formula: "cost/{e}_{p}_conversions_cohort"},
	{slug: "{e}_{p}_events_rate_cohort", label: "{P} {E} Rate (Events)", kind: ratio, formula: "{e}_{p}_events_cohort/installs"},
	{slug: "{e}_{p}_conversions_rate_cohort", label: "{P} {E} Rate (Conversions)", kind: ratio, formula: "{e}_{p}_conversions_cohort/installs"},
	{slug: "{e}_{p}_events_per_conversion_cohort", label: "{P} {E} Events per Conversion", kind: decimal, formula: "{e}_{p}_events_cohort/{e}_{p}_conversions_cohort"},
	{slug: "{e}_{p}_events_per_reattribution_cohort", label: "{P} {E} per Reattribution", kind: decimal, formula: "{e}_{p}_events_cohort/reattributions"},
	{slug: "{e}_{p}_conversions_per_reattribution_cohort", label: "{P} {E} Conversions per Reattributions", kind: decimal, formula: "{e}_{p}_conversions_cohort/reattributions"},
	{slug: "{e}_{p}_revenue_per_conversion_cohort", label: "{P} {E} Revenue per Conversion", kind: money, formula: "{e}_{p}_revenue_cohort/{e}_{p}_conversions_cohort"},
}

// evUsers is an app's active users times the event's rate, in millionths of an event; evCut rounds a share of the events.
const (
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
	{"event", "", count, "f.installs*xe.rate*6", 12, 113, 0},
	{"converted", "", count, "f.installs*min(900000,xe.rate*2)", 5, 127, 0},
}
