package metrics

import (
	"math"
	"strings"
)

// Sums reports whether the metrics' values are exact sums: counts, and amounts in micros, which add
// up.
func (g *Glossary) Sums(list []Column) bool {
	for _, m := range list {
		e, err := g.formulas.compile(m, func(c Column) expr {
			if c.Def.Kind == Money {
				return expr{"0", Micros}
			}
			return expr{"0", Whole}
		})
		if err != nil || e.unit == real || strings.Contains(e.sql, "abs(") || strings.Contains(e.sql, "CAST(") {
			return false
		}
	}
	return true
}

// Horizon returns the age in days from which the metrics' values don't change by themselves any
// more; it may be math.MaxInt.
func (g *Glossary) Horizon(list []Column) int {
	longest := 14 // networkSpend is final at this age
	for _, m := range list {
		_, err := g.formulas.compile(m, func(c Column) expr {
			if c.Def.IsCohort() {
				longest = max(longest, c.Period.End+1)
			}
			if strings.Contains(c.Def.Row, "{until_now:") {
				longest = math.MaxInt
			}
			return expr{"0", Whole}
		})
		if err != nil {
			return math.MaxInt
		}
	}
	return longest
}
