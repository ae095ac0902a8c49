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

	Unknown bool // the catalogue lacks it: see Described

	unit  string // set if it doesn't follow from the type: see Unit
	spend string // the table's column spend: "network", "mode" or ""; see NetworkCost
}

// Additive says over which dimensions a metric may be summed.
type Additive uint8

// The zero value, Nowhere, is the cautious one.
const (
	Nowhere Additive = iota // ratios, means, absolute differences, moving averages
	// Unique users may be summed over networks or countries, but not over days, because a user is
	// counted on each day.
	NotOverTime
	Everywhere // over all dimensions
)

// additives has the words of the table's column additive.
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

// For how many days after its end the service restates a period: its own numbers, and those that
// are based on what ad networks report.
const (
	Restated          = 7
	RestatedByNetwork = 14
)

// FinalAfter returns after how many days from a period's end the service no longer changes the
// metric: the days of a cohort's period, plus those in which it restates everything, or what
// networks report. ever is false for a metric that accumulates, because it is never final.
func (f Field) FinalAfter(adSpendMode string) (days int, ever bool) {
	days = Restated
	if f.NetworkCost(adSpendMode) {
		days = RestatedByNetwork
	}
	return f.Horizon + days, !f.Accumulates
}

// OfCohort tells whether the metric is dated by install, and so belongs to a cohort. That includes
// metrics of day 0, whose horizon is 0.
func (f Field) OfCohort() bool {
	return f.Horizon > 0 || f.Accumulates || strings.Contains(f.Pattern, "{p}")
}

// Subtracts tells whether the metric is a difference, as a profit is. Such a metric falls when what
// is subtracted arrives late.
func (f Field) Subtracts() bool { return strings.Contains(f.Formula(), "-") }

// Formula returns how the service computes the metric from other metrics, by their slugs:
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
