package metrics

// eventMetrics are the families of one event {e}. xe is its row in app_events, joined per app; an
// app without the event has rate 0. Source: the service's metrics glossary. Cohort rows take events
// per install from the same rate. The four outcomes of verification add up to the events, because
// they lie between ascending shares of the events.
var eventMetrics = []Metric{
	{Slug: "{e}_{p}_events_cohort", Label: "{P} {E} (Events)", Section: "Events", Row: "{until_end:event}"},
	{Slug: "{e}_{p}_revenue_cohort", Label: "{P} {E} (Revenue)", Kind: Money, Section: "Events",
		Row: "{until_end:event}*xe.price"},
	{Slug: "{e}_{p}_events_per_period", Label: "{P} {E} (Events per Period)", Section: "Events", Row: "{inside:event}"},
	{Slug: "{e}_{p}_revenue_per_period", Label: "{P} {E} (Event Revenue per Period)", Kind: Money, Section: "Events",
		Row: "{inside:event}*xe.price"},
	{Slug: "{e}_{p}_conversions_cohort", Label: "{P} {E} (Conversions)", Section: "Events",
		Row: "{until_end:converted}"},
	{Slug: "{e}_{p}_converted_user_size_cohort", Label: "{P} {E} (Converted User Size)", Section: "Events",
		Row: "{until_now:converted}"},
	{Slug: "{e}_{p}_conversions_per_period", Label: "{P} {E} (Conversions per Period)", Section: "Events",
		Row: "{inside:converted}"},
	{Slug: "{e}_{p}_converted_user_size_per_period", Label: "{P} {E} (Converted User Size per Period)",
		Section: "Events", Row: "{until_now:converted}"},
	{Slug: "{e}_{p}_conversion_distribution_cohort", Label: "{P} {E} (Conversion Distribution)", Kind: Ratio,
		Section: "Events", Formula: "{e}_{p}_conversions_cohort/{e}_{p}_converted_user_size_cohort"},
	{Slug: "{e}_{p}_events_cost_cohort", Label: "{P} Cost per {E} (Events)", Kind: Decimal, Section: "Events",
		Formula: "cost/{e}_{p}_events_cohort"},
	{Slug: "{e}_{p}_conversions_cost_cohort", Label: "{P} Cost per {E} (Conversions)", Kind: Decimal, Section: "Events",
		Formula: "cost/{e}_{p}_conversions_cohort"},
	{Slug: "{e}_{p}_events_rate_cohort", Label: "{P} {E} Rate (Events)", Kind: Ratio, Section: "Events",
		Formula: "{e}_{p}_events_cohort/cohort_size_{p}"},
	{Slug: "{e}_{p}_conversions_rate_cohort", Label: "{P} {E} Rate (Conversions)", Kind: Ratio, Section: "Events",
		Formula: "{e}_{p}_conversions_cohort/cohort_size_{p}"},
	{Slug: "{e}_{p}_events_per_conversion_cohort", Label: "{P} {E} Events per Conversion", Kind: Decimal,
		Section: "Events", Formula: "{e}_{p}_events_cohort/{e}_{p}_conversions_cohort"},
	{Slug: "{e}_{p}_events_per_reattribution_cohort", Label: "{P} {E} per Reattribution", Kind: Decimal,
		Section: "Events", Formula: "{e}_{p}_events_cohort/reattributions"},
	{Slug: "{e}_{p}_conversions_per_reattribution_cohort", Label: "{P} {E} Conversions per Reattributions",
		Kind: Decimal, Section: "Events", Formula: "{e}_{p}_conversions_cohort/reattributions"},
	{Slug: "{e}_{p}_revenue_per_conversion_cohort", Label: "{P} {E} Revenue per Conversion", Kind: Money,
		Section: "Events", Formula: "{e}_{p}_revenue_cohort/{e}_{p}_conversions_cohort"},
	{Slug: "{e}_events", Label: "{E}", Section: "Events", Row: evEvents},
	{Slug: "{e}_revenue", Label: "{E} (In-app revenue)", Kind: Money, Section: "Events", Row: evEvents + "*xe.price"},
	{Slug: "{e}_events_cost_noncohorted", Label: "Cost per {E} (deliverables)", Kind: Money, Section: "Events",
		Formula: "cost/{e}_events"},
	{Slug: "{e}_events_min", Label: "{E} (Min)", Section: "Events", Row: evSkadEst + "*4/5"},
	{Slug: "{e}_events_max", Label: "{E} (Max)", Section: "Events", Row: "(" + evSkadEst + "*6+4)/5"},
	{Slug: "{e}_events_est", Label: "{E} (Average)", Section: "Events", Row: evSkadEst},
	{Slug: "{e}_revenue_min", Label: "{E} (Min Revenue)", Kind: Money, Section: "Events",
		Row: evSkadEst + "*xe.price/10*7"},
	{Slug: "{e}_revenue_max", Label: "{E} (Max Revenue)", Kind: Money, Section: "Events",
		Row: evSkadEst + "*xe.price/10*13"},
	{Slug: "{e}_revenue_est", Label: "{E} (Average Revenue)", Kind: Money, Section: "Events",
		Row: evSkadEst + "*xe.price"},
	{Slug: "{e}_skad_event_conversion_rate", Label: "{E} (Conversion rate)", Kind: Ratio, Section: "Events",
		Formula: "{e}_events_est/skad_total_installs"},
	{Slug: "{e}_skan_ecpa", Label: "{E} (eCPA (SKAN))", Kind: Decimal, Section: "Events",
		Formula: "(network_ad_spend_skan*valid_conversions)/({e}_events_est*skad_installs)"},
	{Slug: "{e}_events_not_verified", Label: "{E} (Not Verified Events)", Section: "Events", Row: evUnverified},
	{Slug: "{e}_revenue_not_verified", Label: "{E} (Not Verified Revenue)", Kind: Money, Section: "Events",
		Row: evUnverified + "*xe.price"},
	{Slug: "{e}_events_verified_passed", Label: "{E} (Verified Passed Events)", Section: "Events", Row: evPassed},
	{Slug: "{e}_revenue_verified_passed", Label: "{E} (Verified Passed Revenue)", Kind: Money, Section: "Events",
		Row: evPassed + "*xe.price"},
	{Slug: "{e}_events_verified_failed", Label: "{E} (Verified Failed Events)", Section: "Events", Row: evFailed},
	{Slug: "{e}_revenue_verified_failed", Label: "{E} (Verfied Failed Revenue)", Kind: Money, Section: "Events",
		Row: evFailed + "*xe.price"},
	{Slug: "{e}_events_verified_unknown", Label: "{E} (Verified Unknown Events)", Section: "Events", Row: evUnknown},
	{Slug: "{e}_revenue_verified_unknown", Label: "{E} (Verified Unknown Revenue)", Kind: Money, Section: "Events",
		Row: evUnknown + "*xe.price"},
	{Slug: "{e}_skan_event_ecr_min", Label: "{E} (Event Conversion Rate, Min)", Kind: Ratio, Section: "Events",
		Formula: "{e}_events_min/valid_conversions"},
	{Slug: "{e}_skan_event_ecr_est", Label: "{E} (Event Conversion Rate, Average)", Kind: Ratio, Section: "Events",
		Formula: "{e}_events_est/valid_conversions"},
	{Slug: "{e}_skan_event_ecr_max", Label: "{E} (Event Conversion Rate, Max)", Kind: Ratio, Section: "Events",
		Formula: "{e}_events_max/valid_conversions"},
	{Slug: "{e}_skan_event_rpu_min", Label: "{E} (Revenue per User, Min)", Kind: Money, Section: "Events",
		Formula: "{e}_revenue_min/valid_conversions"},
	{Slug: "{e}_skan_event_rpu_est", Label: "{E} (Revenue per User, Average)", Kind: Money, Section: "Events",
		Formula: "{e}_revenue_est/valid_conversions"},
	{Slug: "{e}_skan_event_rpu_max", Label: "{E} (Revenue per User, Max)", Kind: Money, Section: "Events",
		Formula: "{e}_revenue_max/valid_conversions"},
}

// evEvents is SQL for an app's active users times the event's rate, which is in millionths of an
// event. evSkadEst is SQL for the average estimate of the events of SKAdNetwork's installs.
// evCut70, evCut76 and evCut83 are these percentages of the events, rounded; the four outcomes lie
// between them.
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

// eventBases are the counts of one event in a cohort: all of its occurrences, and the first of each
// user.
var eventBases = []CohortBase{
	{"event", Count, "f.installs*xe.rate*6", 12, 113},
	{"converted", Count, "f.installs*min(900000,xe.rate*2)", 5, 127},
}
