package emulator

import (
	"fmt"
	"strings"
)

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
