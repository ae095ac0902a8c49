// Package metrics says what each dimension and metric of a report is, and turns a Query into one
// SQL statement over the facts. Without it the emulated service would have no formulas of its own,
// and one misreading of the service's glossary could hide in the client and in what the client is
// tested against.
//
//	slug ── Glossary.Find ── Column ──┐
//	                                  ├── Query ── Glossary.Build ── Statement (SQL, arguments, units)
//	dimension, filters, zone, modes ──┘
//
// A metric is either a row expression, which is summed over the facts of a group, or a formula over
// other metrics. Sums are exact integers, money in millionths of the report's currency; quotients
// are doubles, and 0.0 where the divisor is 0.
package metrics

import (
	"slices"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
)

// Query is what a report asks for, after checks. The code that reads a request fills it in, and
// Glossary.Build turns it into SQL.
type Query struct {
	Dimensions []Dimension
	Metrics    []Column
	Period     Period         // in the report's zone
	Zone       *time.Location // of the report
	FirstDay   int            // the first day with data, by UTC
	Today      int            // the last day with data, by UTC
	ZoneToday  int            // the same in the report's zone
	ThisHour   int            // the current hour, counted from 1970-01-01 UTC
	Hours      *Hours         // the only UTC hours that count; nil: all of the period

	Filters []DimensionFilter
	Bounds  []MetricFilter // on the values of a group
	Apps    []int          // indices of the apps that have slices which pass Filters; KeepSlices finds them
	Sort    []SortKey
	Limit   int // of rows; 0: none

	Compared bool // with an earlier period, whose numbers are shown too
	Earlier  int  // days from that period's first day to Period's

	Currency     facts.Rate
	IAPPercent   int    // how much of in-app revenue counts
	SpendMode    string // adjust, network or mixed
	AdSources    []int  // indices in facts.AdSources whose ad revenue counts; nil: all
	Maturity     string // immature, mature or fully_mature
	Engagements  []int  // how users other than organic ones may have come, such as facts.EngagementClick; nil: any
	FirstSource  bool   // attributed dimensions are the first engagement's
	Reattributed string // all, true or false
	Sandbox      bool   // test traffic instead of production

	At time.Time // the facts as they were then, by the emulator's clock; zero: as they are

	sliceFilters []factFilter // made by KeepSlices from Filters, except those of dates
}

// A SortKey is one of the columns that the rows are sorted by.
type SortKey struct {
	Column     int // from 1, dimensions first
	Descending bool
}

// Hours are the UTC hours first <= hour <= last, in hours since 1970-01-01.
type Hours struct{ First, Last int }

// span is a range of facts that a query reads: its period, or the one to compare it with, whose
// dates are shown shift days later than they are.
type span struct {
	hours Hours  // empty when Last < First
	local string // SQL for the fact's local time in seconds
	shift int    // days
}

// Spans returns the span of the query's period and, if there is one, that of the period to compare
// it with.
func (q *Query) Spans() []span {
	out := []span{q.span(0)}
	if q.Compared {
		out = append(out, q.span(q.Earlier))
	}
	return out
}

// span returns the span of the period so many days earlier.
func (q *Query) span(shift int) span {
	s := span{shift: shift}
	s.hours = Hours{firstHour(q.Zone, q.Period.From-shift), firstHour(q.Zone, q.Period.To+1-shift) - 1}
	// There are no facts outside these days, and the clock changes of centuries would be a long
	// text.
	s.hours.First = max(s.hours.First, q.FirstDay*24)
	s.hours.Last = min(s.hours.Last, q.Today*24+23)
	if q.Hours != nil {
		s.hours.First = max(s.hours.First, q.Hours.First-shift*24)
		s.hours.Last = min(s.hours.Last, q.Hours.Last-shift*24)
	}
	s.local = localSeconds(q.Zone, s.hours)
	return s
}

// UTCDays returns the days whose facts the span may need: a zone's day lies on two days of UTC.
func (s span) UTCDays() Period {
	return Period{facts.FloorDiv(s.hours.First, 24), facts.FloorDiv(s.hours.Last, 24)}
}

// shownTime returns SQL for the local time that a fact is shown at, in seconds.
func (s span) shownTime() string {
	if s.shift == 0 {
		return s.local
	}
	return "(" + s.local + sign(s.shift*facts.DaySeconds) + ")"
}

// Names returns the columns' slugs and readable names: dimensions, metrics, the metrics of the
// comparison period.
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

// groupsBy reports whether the report shows the dimension.
func (q *Query) groupsBy(slug string) bool {
	return slices.ContainsFunc(q.Dimensions, func(d Dimension) bool { return d.Slug == slug })
}

// Period is an inclusive range of days since 1970-01-01, in the report's zone. It is empty when
// To < From.
type Period struct{ From, To int }

// Days returns the number of days; 0 when the period is empty.
func (p Period) Days() int { return max(p.To-p.From+1, 0) }
