package emulator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// metricOps are the filters m__op of metrics, and their operators in SQL.
var metricOps = map[string]string{"lt": "<", "lte": "<=", "gt": ">", "gte": ">=", "eq": "=", "ne": "<>"}

// dimensionFilter keeps facts by the label of a dimension, whether or not the report shows it.
type dimensionFilter struct {
	dimension dimension
	op        string
	values    []string // folded; several for in and not_in
}

// metricFilter keeps groups by the value of a metric, whether or not the report shows it.
type metricFilter struct {
	metric column
	op     string
	bound  float64
}

// factFilter keeps facts whose column is one of ids: what filters of dimensions come to once they are worked out on the
// few texts of slices and labels of hours, in Go, where letters of every script can be folded.
type factFilter struct {
	column string
	ids    []int
}

func (f factFilter) sql() (text string, arg any, err error) {
	list, err := json.Marshal(f.ids)
	return f.column + " IN (SELECT value FROM json_each(?))", string(list), err
}

// keepSlices works out the filters of the slices' dimensions: which apps and which facts they leave. Under
// attribution_source=first a fact's own slice and the one that is credited pass filters of different dimensions.
func (q *query) keepSlices(w *world) {
	own, credited := factFilter{column: "f.slice", ids: []int{}}, factFilter{column: "f.first_slice", ids: []int{}}
	all := 0
	for i := range w.apps {
		ofUser, ofEngagement := 0, 0
		for j := range w.apps[i].slices {
			sl := &w.apps[i].slices[j]
			user, engagement := q.passes(sl, false), q.passes(sl, true)
			if !q.firstSource {
				user, engagement = user && engagement, user && engagement
			}
			if user {
				own.ids = append(own.ids, sl.id)
				ofUser++
			}
			if engagement {
				credited.ids = append(credited.ids, sl.id)
				ofEngagement++
			}
		}
		all += len(w.apps[i].slices)
		if ofUser > 0 && ofEngagement > 0 {
			q.apps = append(q.apps, i)
		}
	}
	if len(own.ids) < all {
		q.kept = append(q.kept, own)
	}
	if q.firstSource && len(credited.ids) < all {
		q.kept = append(q.kept, credited)
	}
}

// passes tells whether a slice passes the filters of the dimensions that the engagement decides, or of the others.
func (q *query) passes(s *slice, attributed bool) bool {
	for _, f := range q.filters {
		d := f.dimension
		if d.time != nil || d.attributed != attributed {
			continue
		}
		text := ""
		if d.isCurrency() {
			text = q.currency.label(d.slug)
		} else {
			text = s.texts[d.text]
		}
		if !f.keeps(text) {
			return false
		}
	}
	return true
}

// factFilters are all filters of dimensions over a span.
func (q *query) factFilters(s span) []factFilter {
	var dates []dimensionFilter
	for _, f := range q.filters {
		if f.dimension.time != nil {
			dates = append(dates, f)
		}
	}
	if dates == nil {
		return q.kept
	}
	hours := factFilter{"f.ts", []int{}}
	for hour := s.hours.first; hour <= s.hours.last; hour++ {
		shown := time.Unix(int64(hour)*3600+int64(offsetAt(q.zone, hour))+int64(s.shift)*daySeconds, 0).UTC()
		keeps := true
		for _, f := range dates {
			keeps = keeps && f.keeps(f.dimension.time.print(shown))
		}
		if keeps {
			hours.ids = append(hours.ids, hour)
		}
	}
	return append(q.kept[:len(q.kept):len(q.kept)], hours)
}

// fold makes texts equal that differ in case only, by Unicode's simple folding: each letter by itself, in every script.
// "ß" and "SS", and the Turkish dotted capital I and "i", stay different.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, s)
}

func foldAll(list []string) (out []string) {
	for _, s := range list {
		out = append(out, fold(s))
	}
	return out
}

func (f dimensionFilter) keeps(label string) bool {
	label = fold(label)
	holds := func(v string) bool {
		switch strings.TrimPrefix(f.op, "not_") {
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
	negated := f.op == "exclude" || strings.HasPrefix(f.op, "not_")
	return slices.ContainsFunc(f.values, holds) != negated
}

// sql is the filter over e, the metric's value of a group. Amounts are compared as the double nearest to the decimal
// that is printed, so that equal means equal to the printed cell.
func (f metricFilter) sql(e expr) string {
	return fmt.Sprintf("%s%s?", e.float(), metricOps[f.op])
}
