package refresh

import (
	"fmt"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/sinks"
)

// A Period is the length of a table's partitions. A partition is named by its first day.
type Period uint8

// The periods. Weeks run from Sunday to Saturday, as the service's week dimension does; quarters
// and years are those of the calendar. Whole is the period of a table without a date dimension: one
// partition, WholeTable, that never ends.
const (
	Day Period = iota
	Week
	Month
	Quarter
	Year
	Whole
)

// WholeTable is the only partition of a table whose period is Whole.
var WholeTable = sinks.Whole

// endOfTime is the end of Whole, a day that no clock will show.
var endOfTime = civil.Date{Year: 9999, Month: time.December, Day: 31}

// origin is a Sunday from which periods are counted. Windows lie on a grid that begins there, so
// that every process sees the same windows whatever is missing when it plans.
var origin = civil.Date{Year: 1970, Month: time.January, Day: 4}

func (p Period) String() string {
	return [...]string{"day", "week", "month", "quarter", "year", "whole"}[p]
}

// Index returns the number of the period that contains d, counted from the origin. It is negative
// before the origin.
func (p Period) Index(d civil.Date) int {
	switch p {
	case Day:
		return d.DaysSince(origin)
	case Week:
		return floorDiv(d.DaysSince(origin), 7)
	case Month:
		return (d.Year-origin.Year)*12 + int(d.Month-time.January)
	case Quarter:
		return (d.Year-origin.Year)*4 + int(d.Month-time.January)/3
	case Year:
		return d.Year - origin.Year
	case Whole:
		return 0
	}
	panic(fmt.Sprintf("jobs: period %d", p))
}

// At returns the first day of the period with that number.
func (p Period) At(index int) civil.Date {
	switch p {
	case Day:
		return origin.AddDays(index)
	case Week:
		return origin.AddDays(7 * index)
	case Month:
		return firstOfMonth(index)
	case Quarter:
		return firstOfMonth(3 * index)
	case Year:
		return firstOfMonth(12 * index)
	case Whole:
		if index > 0 {
			return endOfTime
		}
		return WholeTable
	}
	panic(fmt.Sprintf("jobs: period %d", p))
}

// Start returns the first day of the period that contains d.
func (p Period) Start(d civil.Date) civil.Date { return p.At(p.Index(d)) }

// Next returns the first day of the period after the one that contains d.
func (p Period) Next(d civil.Date) civil.Date { return p.At(p.Index(d) + 1) }

// Row returns the periods from the one that begins on first to the one that begins on last.
func (p Period) Row(first, last civil.Date) (row []civil.Date) {
	for d := first; !d.After(last); d = p.Next(d) {
		row = append(row, d)
	}
	return row
}

// firstOfMonth returns the first day of the month with that number, counted from January of the
// origin's year.
func firstOfMonth(index int) civil.Date {
	years := floorDiv(index, 12)
	return civil.Date{Year: origin.Year + years, Month: time.January + time.Month(index-12*years), Day: 1}
}

// floorDiv returns a/b, rounded down.
func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
