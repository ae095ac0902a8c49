package emulator

// cohortMetrics are the formulas over cohort bases ({p}: period). Source: the service's metrics glossary.
var cohortMetrics = []metricDef{
	{slug: "reattributions_per_user_{p}", label: "{P} Reattributions Per User", kind: decimal, formula: "reattributions_{p}/cohort_size_{p}"},
	{slug: "deattributions_per_user_{p}", label: "{P} Deattributions Per User", kind: decimal, formula: "deattributions_{p}/cohort_size_{p}"},
	{slug: "reattributions_per_deattribution_{p}", label: "{P} Reattributions per Deattribution", kind: decimal, formula: "reattributions_{p}/deattributions_{p}"},
	{slug: "sessions_{p}", label: "{P} Sessions", formula: "non_install_sessions_{p}+install_sessions_{p}"},
	{slug: "retention_rate_{p}", label: "{P} Retention", kind: ratio, formula: "retained_users_{p}/cohort_size_{p}"},
	{slug: "sessions_per_user_{p}", label: "{P} Sessions per users", kind: decimal, formula: "sessions_{p}/cohort_size_{p}"},
	{slug: "revenue_per_user_{p}", label: "{P} In-app Revenue per user", kind: money, formula: "revenue_{p}/cohort_size_{p}"},
	{slug: "revenue_total_per_user_{p}", label: "{P} Revenue Total Per User", kind: money, formula: "revenue_total_{p}/cohort_size_{p}"},
	{slug: "revenue_per_paying_user_{p}", label: "{P} All Revenue per paying user", kind: money, formula: "revenue_{p}/paying_users_{p}"},
	{slug: "lifetime_value_{p}", label: "{P} Lifetime Value all users (LTV)", kind: money, formula: "all_revenue_total_in_cohort_{p}/cohort_size_{p}"},
	{slug: "lifetime_value_ad_{p}", label: "{P} LTV (Ad) All Users", kind: money, formula: "ad_revenue_total_in_cohort_{p}/cohort_size_{p}"},
	{slug: "lifetime_value_iap_{p}", label: "{P} LTV (IAP) All Users", kind: money, formula: "revenue_total_in_cohort_{p}/cohort_size_{p}"},
	{slug: "paying_user_lifetime_value_{p}", label: "{P} Lifetime Value paying users", kind: money, formula: "all_revenue_total_in_cohort_{p}/paying_user_size_{p}"},
	{slug: "paying_user_lifetime_value_ad_{p}", label: "{P} LTV (Ad) Paying Users", kind: money, formula: "ad_revenue_total_in_cohort_{p}/paying_user_size_{p}"},
	{slug: "paying_user_lifetime_value_iap_{p}", label: "{P} LTV (IAP) Paying Users", kind: money, formula: "revenue_total_in_cohort_{p}/paying_user_size_{p}"},
	{slug: "time_spent_per_user_{p}", label: "{P} Time spent per user", kind: seconds, formula: "time_spent_{p}/cohort_size_{p}"},
	{slug: "time_spent_per_active_user_{p}", label: "{P} Time Spent Per Active User", kind: seconds, formula: "time_spent_{p}/retained_users_{p}"},
	{slug: "time_spent_per_session_{p}", label: "{P} Time spent per session", kind: seconds, formula: "time_spent_{p}/non_install_sessions_{p}"},
	{slug: "paying_users_retention_rate_{p}", label: "{P} Retention paying users", kind: ratio, formula: "paying_users_{p}/retained_users_{p}"},
	{slug: "paying_user_rate_{p}", label: "{P} Paying user rate", kind: ratio, formula: "paying_users_{p}/cohort_size_{p}"},
	{slug: "revenue_events_per_user_{p}", label: "{P} Revenue events per user", kind: decimal, formula: "revenue_events_{p}/cohort_size_{p}"},
	{slug: "revenue_events_per_active_user_{p}", label: "{P} Revenue Events Per Active User", kind: decimal, formula: "revenue_events_{p}/retained_users_{p}"},
	{slug: "revenue_events_per_paying_user_{p}", label: "{P} Revenue Events Per Paying User", kind: decimal, formula: "revenue_events_{p}/paying_users_{p}"},
	{slug: "roas_{p}", label: "{P} ROAS", kind: ratio, formula: "all_revenue_total_{p}/cost"},
	{slug: "roas_ad_{p}", label: "{P} ROAS (Ad Revenue)", kind: ratio, formula: "ad_revenue_total_{p}/cost"},
	{slug: "roas_iap_{p}", label: "{P} ROAS (IAP Revenue)", kind: ratio, formula: "revenue_total_{p}/cost"},
	{slug: "ad_rpm_{p}", label: "{P} Ad RPM", kind: money, formula: "(ad_revenue_{p}/ad_impressions_{p})*1000"},
	{slug: "ad_revenue_total_per_user_{p}", label: "{P} Ad Revenue Total Per User", kind: money, formula: "ad_revenue_total_{p}/cohort_size_{p}"},
	{slug: "all_revenue_{p}", label: "{P} All Revenue", kind: money, formula: "revenue_{p}+ad_revenue_{p}"},
	{slug: "all_revenue_total_{p}", label: "{P} All Revenue Total", kind: money, formula: "ad_revenue_total_{p}+revenue_total_{p}"},
	{slug: "all_revenue_per_user_{p}", label: "{P} All Revenue Per User", kind: money, formula: "all_revenue_{p}/cohort_size_{p}"},
	{slug: "all_revenue_total_per_user_{p}", label: "{P} All Revenue Total Per User", kind: money, formula: "all_revenue_total_{p}/cohort_size_{p}"},
	{slug: "all_revenue_total_in_cohort_{p}", label: "{P} All Revenue Total In Cohort", kind: money, formula: "ad_revenue_total_in_cohort_{p}+revenue_total_in_cohort_{p}"},
	{slug: "paying_user_conversion_rate_{p}", label: "{P} Paying Users Conversion Rate", kind: ratio, formula: "first_paying_users_{p}/cohort_size_{p}"},
	{slug: "first_time_paying_user_conversion_rate_{p}", label: "{P} First-Time Paying Users Conversion Rate", kind: ratio, formula: "first_paying_users_{p}/retained_users_{p}"},
	{slug: "cost_per_paying_user_{p}", label: "{P} Cost per Paying User", kind: money, formula: "cost/first_paying_users_total_{p}"},
}

// flavours of a cohort base: which metrics it gives.
const (
	inPeriod   = 1 << iota // x_{p}: inside period N
	total                  // x_total_{p}: install to the end of period N
	totalOfOld             // x_total_in_cohort_{p}: the same over installs at least N periods old
)

// cohortBase is a quantity that a cohort accumulates with age. A fact's installs bring amount in the end (micros of USD
// for money, millionths of a thing otherwise) and have brought amount*(a+1)/(a+1+half) of it at the end of day a: half of
// it after about half days. It never falls with age because every step is monotone, roundings included.
type cohortBase struct {
	slug, label string
	kind        kind
	amount      string
	half        int
	salt        int
	flavours    int
}

var cohortBases = []cohortBase{
	{"revenue", "Revenue", money, "f.installs*d.arpu", 9, 0, inPeriod | total | totalOfOld},
	{"ad_revenue", "Ad Revenue", money, "f.installs*d.adpu", 4, 0, inPeriod | total | totalOfOld},
	{"ad_impressions", "Ad Impressions", count, "f.installs*7000000", 4, 61, inPeriod | total | totalOfOld},
	{"revenue_events", "Revenue Events", count, "f.installs*d.retention*2500", 9, 67, inPeriod | total | totalOfOld},
	{"non_install_sessions", "Non-Install Sessions", count, "f.installs*d.retention*90000", 11, 71, inPeriod},
	{"time_spent", "Time Spent", seconds, "f.installs*d.retention*21000000", 11, 73, inPeriod},
	{"reattributions", "Reattributions", count, "f.installs*80000", 25, 79, inPeriod},
	{"deattributions", "Deattributions", count, "f.installs*60000", 30, 83, inPeriod},
	{"uninstalls", "Uninstalls", count, "f.installs*550000", 15, 89, inPeriod | total},
	{"first_uninstalls", "First Uninstalls", count, "f.installs*480000", 15, 89, inPeriod | total},
	{"reinstalls", "Reinstalls", count, "f.installs*130000", 21, 97, inPeriod | total},
	{"first_reinstalls", "First Reinstalls", count, "f.installs*110000", 21, 97, inPeriod | total},
	{"gdpr_forgets", "GDPR Forgets", count, "f.installs*4000", 40, 101, inPeriod | total},
	{"first_paying_users", "First-Time Paying Users", count, "f.installs*d.retention*900", 7, 103, inPeriod | total},
}

// periodBases are the cohort bases with row expressions of their own: {start} is the first day of the period.
// A user is active N days after the install with probability 1.3/(3+N), times the slice's retention for N > 0.
var periodBases = []metricDef{
	{slug: "cohort_size_{p}", label: "{P} Cohort Size", row: "({age}>={start})*f.installs"},
	{slug: "retained_users_{p}", label: "{P} Retained Users", row: "({age}>={start})*" + retained},
	{slug: "paying_users_{p}", label: "{P} Paying Users", row: "({age}>={start})*(" + retained + "*4+f.salt/10000)/100"},
	{slug: "paying_user_size_{p}", label: "{P} Paying User Size", row: "({age}>={start})*{until_end:first_paying_users}"},
}

// installSessions are the sessions that are the installs themselves.
var installSessions = metricDef{slug: "install_sessions_{p}", row: "({start}=0)*f.installs"}

const retained = "(CASE WHEN {start}=0 THEN f.installs ELSE min(f.installs,(f.installs*d.retention*(1300000/(3+{start}))/100+f.salt)/1000000) END)"
