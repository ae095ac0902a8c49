// Package metrics says what each dimension and metric of a report is, and turns a Query into one SQL statement over the
// facts. Without it the emulated service would have no formulas of its own, and one misreading of the service's
// glossary could hide in the client and in what the client is tested against.
//
//	slug ── Glossary.Find ── Column ──┐
//	                                  ├── Query ── Glossary.Build ── Statement (SQL, arguments, units)
//	dimension, filters, zone, modes ──┘
//
// A metric is either a row expression, which is summed over the facts of a group, or a formula over other metrics. Sums
// are exact integers, money in millionths of the report's currency; quotients are doubles, and 0.0 where the divisor is 0.
package metrics

import (
	"slices"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
)

// Query is a report's request, read and checked.
type Query struct {
	Dimensions []Dimension
	Metrics    []Column
	Period     Period // in the report's zone
	Zone       *time.Location
	FirstDay   int // of UTC: the first day with data
	Today      int // of UTC: the last one
	ZoneToday  int // of the report's zone
	ThisHour   int // hours since 1970-01-01 UTC
	Hours      *Hours

	Filters []DimensionFilter
	Bounds  []MetricFilter
	kept    []factFilter // what the filters come to, but those of dates
	Apps    []int        // that have slices which pass the filters
	Sort    []SortKey
	Limit   int // 0: no limit

	Compared bool
	Earlier  int // days from the comparison period's first day to the period's

	Currency     facts.Rate
	IapPercent   int
	SpendMode    string
	AdSources    []int // nil: all
	Maturity     string
	Engagements  []int // nil: all
	FirstSource  bool
	Reattributed string
	Sandbox      bool
}

type SortKey struct {
	Column     int // from 1, dimensions first
	Descending bool
}

// Hours are the UTC hours first <= hour <= last, in hours since 1970-01-01.
type Hours struct{ First, Last int }

// span is a stretch of facts that a query reads: its period, or the one to compare it with, whose dates are shown shift
// days later than they are.
type span struct {
	hours Hours  // empty when last < first
	local string // SQL for the fact's local time in seconds
	shift int
}

// Spans are the query's period and the period to compare it with, if there is one.
func (q *Query) Spans() []span {
	out := []span{q.span(0)}
	if q.Compared {
		out = append(out, q.span(q.Earlier))
	}
	return out
}

func (q *Query) span(shift int) span {
	s := span{shift: shift}
	s.hours = Hours{firstHour(q.Zone, q.Period.From-shift), firstHour(q.Zone, q.Period.To+1-shift) - 1}
	s.hours.First = max(s.hours.First, q.FirstDay*24) // there is nothing more, and centuries of a zone would be a long text
	s.hours.Last = min(s.hours.Last, q.Today*24+23)
	if q.Hours != nil {
		s.hours.First = max(s.hours.First, q.Hours.First-shift*24)
		s.hours.Last = min(s.hours.Last, q.Hours.Last-shift*24)
	}
	s.local = localSeconds(q.Zone, s.hours)
	return s
}

// UtcDays are the days whose facts the span may need: a zone's day lies on two days of UTC.
func (s span) UtcDays() Period {
	return Period{facts.FloorDiv(s.hours.First, 24), facts.FloorDiv(s.hours.Last, 24)}
}

// shown is SQL for the local time that a fact is shown at.
func (s span) shown() string {
	if s.shift == 0 {
		return s.local
	}
	return "(" + s.local + sign(s.shift*facts.DaySeconds) + ")"
}

// Names are the columns' slugs and readable names: dimensions, metrics, the metrics of the comparison period.
func (q *Query) Names() (slugs, labels []string) {
	for _, d := range q.Dimensions {
		slugs, labels = append(slugs, d.Slug), append(labels, d.Label)
	}
	for _, m := range q.Metrics {
		slugs, labels = append(slugs, m.Slug), append(labels, m.Label())
	}
	if q.Compared {
		for _, m := range q.Metrics {
			slugs, labels = append(slugs, m.Slug+"_pop"), append(labels, m.Label()+" (Comparison)")
		}
	}
	return slugs, labels
}

func (q *Query) groupsBy(slug string) bool {
	return slices.ContainsFunc(q.Dimensions, func(d Dimension) bool { return d.Slug == slug })
}

// Period is an inclusive range of days since 1970-01-01, in the report's zone. It is empty when to < from.
type Period struct{ From, To int }

func (p Period) Days() int { return max(p.To-p.From+1, 0) }
