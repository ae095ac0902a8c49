package emulator

import (
	"slices"
	"time"
)

// query is a report's request, read and checked.
type query struct {
	dimensions []dimension
	metrics    []column
	period     period // in the report's zone
	zone       *time.Location
	firstDay   int // of UTC: the first day with data
	today      int // of UTC: the last one
	zoneToday  int // of the report's zone
	thisHour   int // hours since 1970-01-01 UTC
	hours      *hourRange

	filters []dimensionFilter
	bounds  []metricFilter
	kept    []factFilter // what the filters come to, but those of dates
	apps    []int        // that have slices which pass the filters
	sort    []sortKey
	limit   int // 0: no limit

	compared bool
	earlier  int // days from the comparison period's first day to the period's

	currency     exchangeRate
	iapPercent   int
	spendMode    string
	adSources    []int // nil: all
	maturity     string
	engagements  []int // nil: all
	firstSource  bool
	reattributed string
	sandbox      bool
}

type sortKey struct {
	column     int // from 1, dimensions first
	descending bool
}

// hourRange are the UTC hours first <= hour <= last, in hours since 1970-01-01.
type hourRange struct{ first, last int }

// span is a stretch of facts that a query reads: its period, or the one to compare it with, whose dates are shown shift
// days later than they are.
type span struct {
	hours hourRange // empty when last < first
	local string    // SQL for the fact's local time in seconds
	shift int
}

// spans are the query's period and the period to compare it with, if there is one.
func (q *query) spans() []span {
	out := []span{q.span(0)}
	if q.compared {
		out = append(out, q.span(q.earlier))
	}
	return out
}

func (q *query) span(shift int) span {
	s := span{shift: shift}
	s.hours = hourRange{firstHour(q.zone, q.period.from-shift), firstHour(q.zone, q.period.to+1-shift) - 1}
	s.hours.first = max(s.hours.first, q.firstDay*24) // there is nothing more, and centuries of a zone would be a long text
	s.hours.last = min(s.hours.last, q.today*24+23)
	if q.hours != nil {
		s.hours.first = max(s.hours.first, q.hours.first-shift*24)
		s.hours.last = min(s.hours.last, q.hours.last-shift*24)
	}
	s.local = localSeconds(q.zone, s.hours)
	return s
}

// utcDays are the days whose facts the span may need: a zone's day lies on two days of UTC.
func (s span) utcDays() period {
	return period{floorDiv(s.hours.first, 24), floorDiv(s.hours.last, 24)}
}

// shown is SQL for the local time that a fact is shown at.
func (s span) shown() string {
	if s.shift == 0 {
		return s.local
	}
	return "(" + s.local + sign(s.shift*daySeconds) + ")"
}

// names are the columns' slugs and readable names: dimensions, metrics, the metrics of the comparison period.
func (q *query) names() (slugs, labels []string) {
	for _, d := range q.dimensions {
		slugs, labels = append(slugs, d.slug), append(labels, d.label)
	}
	for _, m := range q.metrics {
		slugs, labels = append(slugs, m.slug), append(labels, m.label())
	}
	if q.compared {
		for _, m := range q.metrics {
			slugs, labels = append(slugs, m.slug+"_pop"), append(labels, m.label()+" (Comparison)")
		}
	}
	return slugs, labels
}

func (q *query) groupsBy(slug string) bool {
	return slices.ContainsFunc(q.dimensions, func(d dimension) bool { return d.slug == slug })
}

// period is an inclusive range of days since 1970-01-01, in the report's zone. It is empty when to < from.
type period struct{ from, to int }

func (p period) days() int { return max(p.to-p.from+1, 0) }
