package metrics

import (
	"fmt"
	"sync"
)

// Kind is how a metric's value is written.
type Kind int

// The kinds of values.
const (
	Count   Kind = iota // integer
	Money               // at least one decimal, no more than six unless it is a quotient
	Ratio               // fraction, not percent
	Decimal             // any other quotient, and averages of counts
	Seconds             // integer
	Precise             // money of less than a cent each; always a quotient
)

// Metric is a row of the formula table: a slug with its readable name and either a formula over
// other metrics, or a row expression: SQL over one fact f of slice d, summed over a group's rows.
// Placeholders in slug, label and text: {p} period, {P} its readable form, {e} event slug, {E}
// event name.
type Metric struct {
	Slug, Label string
	Kind        Kind
	Section     string // as the service's pickers group metrics, capitalised: "Conversion"
	Hidden      bool   // served, but in no picker
	Formula     string
	Row         string
}

// metricTables are all metrics that can be asked for, in the order of the service's glossary;
// eventMetrics, whose slugs begin with an event's, aren't among them. Where the row expression is a
// guess (most shares of a base column are) it only has to be plausible. Names, kinds, sections and
// formulas: the metrics catalogue in the service's glossary. Made when first needed, because every
// command of the program has this package in it.
var metricTables = sync.OnceValue(func() [][]Metric {
	return [][]Metric{conversionMetrics, revenueMetrics, costMetrics, fraudMetrics, networkMetrics, assistMetrics,
		skanMetrics,
		skanRevenueMetrics, makeSkanRanges(), cohortMetrics, cohortRevenueMetrics, makeAdSourceMetrics(),
		makeSubscriptionMetrics(),
		makeSubscriptionCohortMetrics()}
})

// innerMetrics are used by formulas only; no report can ask for them.
var innerMetrics = []Metric{
	{Slug: "daily_users", Kind: Money, Row: "{users}"}, // in millionths, as amounts are
	{Slug: "active_days", Row: "{active_days}"},
	{Slug: "install_sessions_{p}", Row: "({start}=0)*f.installs"}, // the sessions that are the installs themselves
}

// share returns SQL for a part of a base column, in parts per million. The row's salt decides
// whether it is rounded up or down, so that many small rows add up to the right sum, and the same
// row is always rounded the same way. Metrics with different factors are rounded independently of
// each other.
func share(column string, ppm, factor int) string {
	return fmt.Sprintf("((%s*%d+(f.salt*%d)%%1000000)/1000000)", column, ppm, factor)
}

// part returns SQL for what lies between two running shares of a column, in parts per million.
// Parts that share a factor and touch each other from 0 to 1,000,000 add up to the whole, and none
// is below 0.
func part(column string, from, to, factor int) string {
	return "(" + share(column, to, factor) + "-" + share(column, from, factor) + ")"
}

// onIOS returns SQL that is row on iOS, else 0.
func onIOS(row string) string { return "(CASE WHEN d.os_name='ios' THEN " + row + " ELSE 0 END)" }
