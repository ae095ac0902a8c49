package catalog

import "strings"

// A Field is one dimension or metric. Of a dimension only Slug, Type and Description are set.
type Field struct {
	Slug        string // as asked for
	Pattern     string // the slug with placeholders that stands for it; empty for a line of its own
	Type        Type
	Description string // the service's label and formula, with what the slug put into a pattern
	Additive    Additive
	// Horizon is the number of days from an install on which the value of its day still grows, for
	// metrics that are dated by install: 7 for d7, 6 for w0, 13 for w1, 29 for m0. It is 0 for
	// those that are dated by the day on which something happened, and for those that always grow
	// (Accumulates). What happened on the last of these days is restated like that of any other
	// day: see FinalAfter.
	Horizon     int
	Accumulates bool // it is dated by install, and grows for as long as users are active

	Unknown bool // to the catalogue: see Described

	unit  string // if the type doesn't decide it: see Unit
	spend string // "network", "mode" or "": see NetworkCost
}

// Additive says over which dimensions a metric may be summed.
type Additive uint8

// The zero value is the cautious one.
const (
	Nowhere Additive = iota // ratios, means, absolute differences, moving averages
	// Unique users: over networks or countries, but not over days, where a user counts on each.
	NotOverTime
	Everywhere // over all dimensions
)

var additives = map[string]Additive{"none": Nowhere, "not time": NotOverTime, "all": Everywhere}

// AdditiveOver tells whether rows that differ in this dimension may be summed. A dimension that the
// catalogue lacks may be one of time.
func (f Field) AdditiveOver(dimension string) bool {
	if f.Additive == NotOverTime {
		d, known := dimensions()[dimension]
		return known && !d.Type.IsTime()
	}
	return f.Additive == Everywhere
}

// NetworkCost tells whether a metric rests on what ad networks report of themselves, which they
// restate for longer than anything else changes. Some metrics always do; others do unless the
// report's ad_spend_mode is adjust.
func (f Field) NetworkCost(adSpendMode string) bool {
	return f.spend == "network" || f.spend == "mode" && adSpendMode != "adjust"
}

// Modelled tells whether a count is one that ad networks report and may estimate, so that it may
// have a fraction.
func (f Field) Modelled() bool { return f.Type == Int64 && f.spend == "network" }

// The days after its end in which the service restates a period: by itself, and what ad networks
// report of themselves.
const (
	Restated          = 7
	RestatedByNetwork = 14
)

// FinalAfter is how many days after a period's end the service changes the metric no more: the
// period of a cohort, and then those in which it restates everything, or what networks report. Of a
// metric that accumulates it is false.
func (f Field) FinalAfter(adSpendMode string) (days int, ever bool) {
	days = Restated
	if f.NetworkCost(adSpendMode) {
		days = RestatedByNetwork
	}
	return f.Horizon + days, !f.Accumulates
}

// OfCohort tells whether the metric is dated by install, and so belongs to a cohort: also one of
// day 0, which has no horizon.
func (f Field) OfCohort() bool {
	return f.Horizon > 0 || f.Accumulates || strings.Contains(f.Pattern, "{p}")
}

// Subtracts tells whether the metric is a difference, as a profit is: it falls when what is taken
// from it comes late.
func (f Field) Subtracts() bool { return strings.Contains(f.Formula(), "-") }

// Formula is how the service computes the metric from other metrics, by their slugs:
// "cost/installs". It is empty for a metric that is counted. The operators are + - * / ( ), and
// abs( ) around a difference. The service gives 0 for a quotient by zero (the examples of its
// documentation).
func (f Field) Formula() string {
	_, formula, found := strings.Cut(f.Description, " = ")
	if !found {
		return ""
	}
	if inner, ok := strings.CutPrefix(formula, "|"); ok {
		formula = "abs(" + strings.TrimSuffix(inner, "|") + ")"
	}
	return strings.NewReplacer("×", "*", "−", "-", " div ", "/", " ", "").Replace(formula)
}
