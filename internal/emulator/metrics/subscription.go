package metrics

import (
	"fmt"
	"strings"
)

// subscriptionEvent is something that happens to a subscription. Names: the service's help center
// and glossary.
type subscriptionEvent struct {
	slug, label string
	ppm         int // per active user and day, in parts per million
	arpu        int // revenue of one, in multiples of the slice's revenue per user; 0: the event brings none
}

// subscriptionEvents are the known events. A refund has negative revenue, so that all kinds
// together add up to the net revenue.
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

// unknownSubscription stands for revenue of no known event. It has a revenue, but no count of
// events.
var unknownSubscription = subscriptionEvent{"unknown", "Unknown", 900, 3}

// subscriptionKinds are the events that have revenue, and unknownSubscription.
var subscriptionKinds = makeSubscriptionKinds()

// makeSubscriptionKinds makes subscriptionKinds.
func makeSubscriptionKinds() []subscriptionEvent {
	var out []subscriptionEvent
	for _, e := range subscriptionEvents {
		if e.arpu != 0 {
			out = append(out, e)
		}
	}
	return append(out, unknownSubscription)
}

// revenue returns the row expression for the revenue of a number of events, which is a row
// expression itself.
func (e subscriptionEvent) revenue(events string) string {
	return fmt.Sprintf("%s*d.arpu*(%d)", events, e.arpu)
}

// sumOf returns the formula that adds up one metric over all subscriptionKinds. pattern is the
// metric's slug, with %s for the event.
func sumOf(pattern string) string {
	var terms []string
	for _, e := range subscriptionKinds {
		terms = append(terms, fmt.Sprintf(pattern, e.slug))
	}
	return strings.Join(terms, "+")
}

// makeSubscriptionMetrics makes the metrics that are dated by the day of the event.
func makeSubscriptionMetrics() []Metric {
	var out []Metric
	for i, e := range append(subscriptionEvents[:len(subscriptionEvents):len(subscriptionEvents)],
		unknownSubscription) {
		// Any factor will do that no other metric has.
		row := share("f.dau", e.ppm, 401+i*14)
		if e.slug != unknownSubscription.slug {
			out = append(out, Metric{Slug: "subscrevnt_" + e.slug + "_events",
				Label: "Subscription " + e.label + " Events", Section: "Events", Row: row})
		}
		if e.arpu != 0 {
			out = append(out, Metric{Slug: "subscrevnt_" + e.slug + "_revenue",
				Label: "Subscription " + e.label + " Revenue", Kind: Money,
				Section: "Revenue", Row: e.revenue(row)})
		}
	}
	return append(out, Metric{Slug: "subscrevnt_revenue", Label: "Subscription Revenue (All)", Kind: Money,
		Section: "Revenue",
		Formula: sumOf("subscrevnt_%s_revenue")})
}

// subscriptionBases are the base quantities of cohort metrics, one for each event: how many of them
// a cohort has at each age.
var subscriptionBases = makeSubscriptionBases()

// makeSubscriptionBases makes subscriptionBases.
func makeSubscriptionBases() []CohortBase {
	var out []CohortBase
	for i, e := range append(subscriptionEvents[:len(subscriptionEvents):len(subscriptionEvents)],
		unknownSubscription) {
		out = append(out, CohortBase{"subscription_" + e.slug, Count,
			fmt.Sprintf("f.installs*d.retention*%d", e.ppm/10), 16, 653 + i*14})
	}
	return out
}

// makeSubscriptionCohortMetrics makes the metrics that are dated by the day of the install.
func makeSubscriptionCohortMetrics() []Metric {
	var out []Metric
	add := func(d Metric) {
		d.Section = "Revenue"
		if d.Kind == Count {
			d.Section = "Events"
		}
		out = append(out, d)
	}
	for _, e := range subscriptionEvents {
		slug, label := "subscription_"+e.slug+"_events", "{P} Subscription "+e.label+" Events"
		add(Metric{Slug: slug + "_{p}", Label: label, Row: "{inside:subscription_" + e.slug + "}"})
		add(Metric{Slug: slug + "_total_{p}", Label: label + " Total", Row: "{until_end:subscription_" + e.slug + "}"})
	}
	var totals []string
	for _, e := range subscriptionKinds {
		slug, label := "subscription_"+e.slug+"_revenue", "{P} Subscription "+e.label+" Revenue"
		add(Metric{Slug: slug + "_{p}", Label: label, Kind: Money,
			Row: e.revenue("{inside:subscription_" + e.slug + "}")})
		total := e.revenue("{until_end:subscription_" + e.slug + "}")
		add(Metric{Slug: slug + "_total_{p}", Label: label + " Total", Kind: Money, Row: total})
		totals = append(totals, total)
	}
	add(Metric{Slug: "subscription_revenue_{p}", Label: "{P} Subscription Revenue", Kind: Money,
		Formula: sumOf("subscription_%s_revenue_{p}")})
	add(Metric{Slug: "subscription_revenue_total_{p}", Label: "{P} Subscription Revenue Total", Kind: Money,
		Formula: sumOf("subscription_%s_revenue_total_{p}")})
	add(Metric{Slug: "subscription_subscription_revenue_total_in_cohort_{p}",
		Label: "{P} Subscription Revenue Total In Cohort", Kind: Money,
		Row: "({age}>={start})*(" + strings.Join(totals, "+") + ")"})
	add(Metric{Slug: "subscription_roas_{p}", Label: "{P} Subscription ROAS", Kind: Ratio,
		Formula: "subscription_revenue_total_{p}/cost"})
	for _, to := range subscriptionEvents {
		rate := func(from, label, under string) { // the pickers show only the rates from installs and from trials
			add(Metric{Slug: "subscription_" + from + "_to_" + to.slug + "_rate_{p}",
				Label: "{P} Subscription " + label + " to " + to.label + " Rate",
				Kind:  Ratio, Hidden: from != "install" && from != "trial_started",
				Formula: "subscription_" + to.slug + "_events_total_{p}/" + under})
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
