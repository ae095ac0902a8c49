package metrics

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/reportferry/reportferry/internal/emulator/facts"
)

// MetricOps maps each op of a metric's filter <metric>__op to its operator in SQL.
var MetricOps = map[string]string{"lt": "<", "lte": "<=", "gt": ">", "gte": ">=", "eq": "=", "ne": "<>"}

// DimensionFilter keeps facts by the label of a dimension, whether or not the report shows it.
type DimensionFilter struct {
	Dimension Dimension
	Op        string
	Values    []string // folded; several for in and not_in
}

// MetricFilter keeps groups by the value of a metric, whether or not the report shows it.
type MetricFilter struct {
	Metric Column
	Op     string
	Bound  float64
}

// factFilter keeps facts whose column is one of ids. Filters of dimensions are turned into such
// filters: they are evaluated in Go on the few texts of slices and labels of hours, because Go can
// fold letters of every script.
type factFilter struct {
	column string
	ids    []int
}

// sql returns the filter as a condition with one argument: the ids as a JSON array, however many
// they are.
func (f factFilter) sql() (text string, arg any, err error) {
	list, err := json.Marshal(f.ids)
	return f.column + " IN (SELECT value FROM json_each(?))", string(list), err
}

// KeepSlices evaluates the filters of the slices' dimensions, and records which apps and which
// facts they leave. Under attribution_source=first, a fact's own slice and the slice that is
// credited have to pass the filters of different dimensions.
func (q *Query) KeepSlices(apps []facts.App) {
	own, credited := factFilter{column: "f.slice", ids: []int{}}, factFilter{column: "f.first_slice", ids: []int{}}
	all := 0 // slices of all apps
	for i := range apps {
		ofUser, ofEngagement := 0, 0
		labels := apps[i].Labels()
		for j := range labels {
			sl := &labels[j]
			user, engagement := q.passes(sl, false), q.passes(sl, true)
			if !q.FirstSource {
				user, engagement = user && engagement, user && engagement
			}
			if user {
				own.ids = append(own.ids, sl.ID)
				ofUser++
			}
			if engagement {
				credited.ids = append(credited.ids, sl.ID)
				ofEngagement++
			}
		}
		all += len(labels)
		if ofUser > 0 && ofEngagement > 0 {
			q.Apps = append(q.Apps, i)
		}
	}
	if len(own.ids) < all {
		q.sliceFilters = append(q.sliceFilters, own)
	}
	if q.FirstSource && len(credited.ids) < all {
		q.sliceFilters = append(q.sliceFilters, credited)
	}
}

// passes tells whether a slice passes the filters of the dimensions that the engagement decides (if
// attributed is true), or those of the others. Filters of dates don't count here.
func (q *Query) passes(s *facts.Slice, attributed bool) bool {
	for _, f := range q.Filters {
		d := f.Dimension
		if d.Time != nil || d.Attributed != attributed {
			continue
		}
		text := ""
		if d.IsCurrency() {
			text = q.Currency.Label(d.Slug)
		} else {
			text = s.Texts[d.Text]
		}
		if !f.Keeps(text) {
			return false
		}
	}
	return true
}

// factFilters returns all filters of dimensions for a span.
func (q *Query) factFilters(s span) []factFilter {
	var dates []DimensionFilter
	for _, f := range q.Filters {
		if f.Dimension.Time != nil {
			dates = append(dates, f)
		}
	}
	if dates == nil {
		return q.sliceFilters
	}
	// local is each hour's time as the report shows it.
	hours := factFilter{"f.ts", []int{}}
	for hour := s.hours.First; hour <= s.hours.Last; hour++ {
		local := time.Unix(int64(hour)*3600+int64(offsetAt(q.Zone, hour))+int64(s.shift)*facts.DaySeconds, 0).UTC()
		keeps := true
		for _, f := range dates {
			keeps = keeps && f.Keeps(f.Dimension.Time.Print(local))
		}
		if keeps {
			hours.ids = append(hours.ids, hour)
		}
	}
	return append(q.sliceFilters[:len(q.sliceFilters):len(q.sliceFilters)], hours)
}

// fold makes texts equal that differ in case only, by Unicode's simple folding: each letter by
// itself, in every script. "ß" and "SS", and the Turkish dotted capital I and "i", stay different.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, s)
}

// FoldAll makes texts comparable whatever their case; see fold.
func FoldAll(list []string) (out []string) {
	for _, s := range list {
		out = append(out, fold(s))
	}
	return out
}

// Keeps reports whether a fact with this label passes.
func (f DimensionFilter) Keeps(label string) bool {
	label = fold(label)
	holds := func(v string) bool {
		switch strings.TrimPrefix(f.Op, "not_") {
		case "in":
			return label == v
		case "starts_with":
			return strings.HasPrefix(label, v)
		case "ends_with":
			return strings.HasSuffix(label, v)
		default: // contains and exclude
			return strings.Contains(label, v)
		}
	}
	negated := f.Op == "exclude" || strings.HasPrefix(f.Op, "not_")
	return slices.ContainsFunc(f.Values, holds) != negated
}

// sql returns the filter over e, the metric's value of a group. Amounts are compared as the double
// nearest to the decimal that is printed, so that equal means equal to the printed cell.
func (f MetricFilter) sql(e expr) string {
	return fmt.Sprintf("%s%s?", e.float(), MetricOps[f.Op])
}
