package catalog

import (
	"fmt"
	"strings"
)

// This file puts the values of a Field into words, for descriptions of columns and for lists that
// people read.

// IsMetric tells a metric from a dimension.
func (f Field) IsMetric() bool { return f.Type >= Int64 }

// Unit returns the unit of the values: count, money (in the report's currency), ratio (a fraction:
// 0.25 is 25 %), seconds, or number for other means and quotients. It is empty for a dimension, and
// {m} for a pattern that has the unit of the metric inside it.
func (f Field) Unit() string {
	switch {
	case f.unit != "":
		return f.unit
	case f.Type == Int64:
		return "count"
	case f.Type == Decimal:
		return "money"
	case f.Type == Double:
		return "number"
	}
	return ""
}

// Units returns what each unit means, because a number in a table doesn't show it.
func Units() map[string]string {
	return map[string]string{
		"count": "how many", "money": "in the report's currency", "ratio": "a fraction: 0.25 is 25 %",
		"seconds": "a length of time",
		"number":  "a mean or a quotient",
	}
}

// Summable says over which dimensions rows may be summed: yes, not over time, or no. It is empty
// for a dimension.
func (f Field) Summable() string {
	switch {
	case !f.IsMetric():
		return ""
	case f.Additive == Everywhere:
		return "yes"
	case f.Additive == NotOverTime:
		return "not over time"
	}
	return "no"
}

// Final says when the service no longer changes a value, for a report with this ad_spend_mode: "7
// days after the period". It is empty for a dimension.
func (f Field) Final(adSpendMode string) string {
	days, ever := f.FinalAfter(adSpendMode)
	switch {
	case !f.IsMetric():
		return ""
	case !ever:
		return "never: it grows for as long as users are active"
	case strings.Contains(f.Slug, anyMetric):
		return "as " + anyMetric
	case strings.Contains(f.Slug, period):
		return fmt.Sprintf("%d days after %s has passed since the install", days, period)
	case f.Unknown && f.Horizon == 0:
		return fmt.Sprintf("not known; taken for %d days after the period", days)
	case f.Horizon > 0:
		return fmt.Sprintf("%d days after the period of the install", days)
	}
	return fmt.Sprintf("%d days after the period", days)
}

// Described returns a metric that the catalogue lacks, made of its slug, and of its formatting and
// description, which are empty if the service wasn't asked for them. Nothing is known of how it may
// be summed, so it counts as not additive. A period in the slug is taken for that of a cohort.
func Described(slug, formatting, description string) Field {
	f := Field{Slug: slug, Type: Double, Description: description, Horizon: horizon(slug), Unknown: true}
	if t, known := ForFormatting(formatting); known {
		f.Type = t
	}
	f.unit = map[string]string{"percent": "ratio", "percent_change": "ratio",
		"timeperiod": "seconds"}[strings.ReplaceAll(Fold(formatting), " ", "_")]
	return f
}
