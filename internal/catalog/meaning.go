package catalog

import (
	"fmt"
	"strings"
)

// This file says in words what the other fields of a Field say to programs: for descriptions of
// columns and for lists that people read.

// IsMetric tells a metric from a dimension.
func (f Field) IsMetric() bool { return f.Type >= Int64 }

// Unit is what one of the values is: count, money (of the currency that the report is in), ratio (a
// fraction: 0.25 is 25 %), seconds, or number for means and quotients of other things. It is empty
// for a dimension, and {m} in the pattern of a metric that has the unit of another one.
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

// Units says what each unit means that a number in a table doesn't show.
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

// Final says since when the service changes a value no more, for a report with this ad_spend_mode:
// "7 days after the period". It is empty for a dimension.
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

// Described is a metric that the catalogue lacks, made of what the service says of it, where it has
// been asked: its name, its formatting and what it calls it. Nothing is known of sums, so there are
// none. Its name tells the period of a cohort.
func Described(slug, formatting, description string) Field {
	f := Field{Slug: slug, Type: Double, Description: description, Horizon: horizon(slug), Unknown: true}
	if t, known := ForFormatting(formatting); known {
		f.Type = t
	}
	f.unit = map[string]string{"percent": "ratio", "percent_change": "ratio",
		"timeperiod": "seconds"}[strings.ReplaceAll(Fold(formatting), " ", "_")]
	return f
}
