package emulator

import (
	"fmt"
	"strings"
)

// subscriptionEvent is something that happens to a subscription. Names: the service's help center and glossary.
type subscriptionEvent struct {
	slug, label string
	ppm         int // per active user and day, in parts per million
	arpu        int // revenue of one, in multiples of the slice's revenue per user; 0: the event brings none
}

// A refund takes revenue back, so that the kinds add up to what is left in the end.
var subscriptionEvents = []subscriptionEvent{
	{"activation", "Activation", 9_000, 4},
	{"billing_retry", "Billing Retry", 2_500, 0},
	{"cancellation", "Cancellation", 5_200, 0},
	{"discounted_offer", "Discounted Offer", 1_900, 2},
	{"expiration", "Expiration", 3_600, 0},
	{"first_conversion", "First Conversion", 6_100, 0},
	{"grace_period", "Grace Period", 1_300, 0},
	{"on_hold", "On Hold", 800, 0},
	{"paused", "Paused", 700, 0},
	{"price_accepted", "Price Accepted", 600, 0},
	{"price_declined", "Price Declined", 400, 0},
	{"reactivation", "Reactivation", 1_700, 4},
	{"renewal", "Renewal", 21_000, 4},
	{"renewal_from_billing_retry", "Renewal From Billing Retry", 1_500, 4},
	{"refund", "Refund", 1_100, -4},
	{"revoked", "Revoked", 500, 0},
	{"trial_started", "Trial Started", 14_000, 0},
}

// unknownSubscription is revenue of no known event: there is no count of it.
var unknownSubscription = subscriptionEvent{"unknown", "Unknown", 900, 3}

// subscriptionKinds are what brings revenue.
var subscriptionKinds = makeSubscriptionKinds()

func makeSubscriptionKinds() []subscriptionEvent {
	var out []subscriptionEvent
	for _, e := range subscriptionEvents {
		if e.arpu != 0 {
			out = append(out, e)
		}
	}
	return append(out, unknownSubscription)
}

// revenue is the row expression of what so many of the event bring.
func (e subscriptionEvent) revenue(events string) string {
	return fmt.Sprintf("%s*d.arpu*(%d)", events, e.arpu)
}

// sumOf is a formula: pattern, with a verb for the event's slug, of all kinds of revenue added up.
func sumOf(pattern string) string {
	var terms []string
	for _, e := range subscriptionKinds {
		terms = append(terms, fmt.Sprintf(pattern, e.slug))
	}
	return strings.Join(terms, "+")
}

// makeSubscriptionMetrics makes those that are dated by the day on which the event happened.
func makeSubscriptionMetrics() []metricDef {
	var out []metricDef
	for i, e := range append(subscriptionEvents[:len(subscriptionEvents):len(subscriptionEvents)], unknownSubscription) {
		row := share("f.dau", e.ppm, 401+i*14)
		if e.slug != unknownSubscription.slug {
			out = append(out, metricDef{slug: "subscrevnt_" + e.slug + "_events", label: "Subscription " + e.label + " Events", section: "Events", row: row})
		}
		if e.arpu != 0 {
			out = append(out, metricDef{slug: "subscrevnt_" + e.slug + "_revenue", label: "Subscription " + e.label + " Revenue", kind: money,
				section: "Revenue", row: e.revenue(row)})
		}
	}
	return append(out, metricDef{slug: "subscrevnt_revenue", label: "Subscription Revenue (All)", kind: money, section: "Revenue",
		formula: sumOf("subscrevnt_%s_revenue")})
}

// subscriptionBases are what a cohort's subscriptions do with age.
var subscriptionBases = makeSubscriptionBases()

func makeSubscriptionBases() []cohortBase {
	var out []cohortBase
	for i, e := range append(subscriptionEvents[:len(subscriptionEvents):len(subscriptionEvents)], unknownSubscription) {
		out = append(out, cohortBase{"subscription_" + e.slug, count, fmt.Sprintf("f.installs*d.retention*%d", e.ppm/10), 16, 653 + i*14})
	}
	return out
}

// makeSubscriptionCohortMetrics makes those that are dated by install.
func makeSubscriptionCohortMetrics() []metricDef {
	var out []metricDef
	add := func(d metricDef) {
		d.section = "Revenue"
		if d.kind == count {
			d.section = "Events"
		}
		out = append(out, d)
	}
	for _, e := range subscriptionEvents {
		slug, label := "subscription_"+e.slug+"_events", "{P} Subscription "+e.label+" Events"
		add(metricDef{slug: slug + "_{p}", label: label, row: "{inside:subscription_" + e.slug + "}"})
		add(metricDef{slug: slug + "_total_{p}", label: label + " Total", row: "{until_end:subscription_" + e.slug + "}"})
	}
	var ofOld []string
	for _, e := range subscriptionKinds {
		slug, label := "subscription_"+e.slug+"_revenue", "{P} Subscription "+e.label+" Revenue"
		add(metricDef{slug: slug + "_{p}", label: label, kind: money, row: e.revenue("{inside:subscription_" + e.slug + "}")})
		total := e.revenue("{until_end:subscription_" + e.slug + "}")
		add(metricDef{slug: slug + "_total_{p}", label: label + " Total", kind: money, row: total})
		ofOld = append(ofOld, total)
	}
	add(metricDef{slug: "subscription_revenue_{p}", label: "{P} Subscription Revenue", kind: money, formula: sumOf("subscription_%s_revenue_{p}")})
	add(metricDef{slug: "subscription_revenue_total_{p}", label: "{P} Subscription Revenue Total", kind: money, formula: sumOf("subscription_%s_revenue_total_{p}")})
	add(metricDef{slug: "subscription_subscription_revenue_total_in_cohort_{p}", label: "{P} Subscription Revenue Total In Cohort", kind: money,
		row: "({age}>={start})*(" + strings.Join(ofOld, "+") + ")"})
	add(metricDef{slug: "subscription_roas_{p}", label: "{P} Subscription ROAS", kind: ratio, formula: "subscription_revenue_total_{p}/cost"})
	for _, to := range subscriptionEvents {
		rate := func(from, label, under string) { // pickers have the two that subscriptions begin with
			add(metricDef{slug: "subscription_" + from + "_to_" + to.slug + "_rate_{p}", label: "{P} Subscription " + label + " to " + to.label + " Rate",
				kind: ratio, hidden: from != "install" && from != "trial_started", formula: "subscription_" + to.slug + "_events_total_{p}/" + under})
		}
		rate("install", "Install", "cohort_size_{p}")
		for _, from := range subscriptionEvents {
			if from != to {
				rate(from.slug, from.label, "subscription_"+from.slug+"_events_total_{p}")
			}
		}
	}
	return out
}
