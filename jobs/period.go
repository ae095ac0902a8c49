package jobs

import (
	"fmt"
	"time"

	"cloud.google.com/go/civil"
)

// A Period is the length of a table's partitions. A partition is named by its first day.
type Period uint8

// The periods of this version. Weeks run from Sunday to Saturday, as the service's week dimension does.
const (
	Day Period = iota
	Week
	Month
)

// The fixed origin from which periods are counted, a Sunday. Windows lie on the grid that it begins, so that every
// process, whatever is missing when it plans, sees the same ones.
var origin = civil.Date{Year: 1970, Month: time.January, Day: 4}

func (p Period) String() string {
	return [...]string{"day", "week", "month"}[p]
}

// Index is the number of the period that holds d, counted from the origin; before it, negative.
func (p Period) Index(d civil.Date) int {
	switch p {
	case Day:
		return d.DaysSince(origin)
	case Week:
		return floorDiv(d.DaysSince(origin), 7)
	case Month:
		return (d.Year-origin.Year)*12 + int(d.Month-origin.Month)
	}
	panic(fmt.Sprintf("jobs: period %d", p))
}

// At is the first day of the period with that number.
func (p Period) At(index int) civil.Date {
	switch p {
	case Day:
		return origin.AddDays(index)
	case Week:
		return origin.AddDays(7 * index)
	case Month:
		year := origin.Year + floorDiv(index, 12)
		return civil.Date{Year: year, Month: time.January + time.Month(index-12*floorDiv(index, 12)), Day: 1}
	}
	panic(fmt.Sprintf("jobs: period %d", p))
}

// Start is the first day of the period that holds d.
func (p Period) Start(d civil.Date) civil.Date { return p.At(p.Index(d)) }

// Next is the first day of the period after the one that holds d.
func (p Period) Next(d civil.Date) civil.Date { return p.At(p.Index(d) + 1) }

func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
