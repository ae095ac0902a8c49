package console

import (
	"fmt"
	"slices"
	"strconv"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/refresh"
)

// A calendar lays a table's partitions out in rows, the newest first. A row is a month for
// partitions of days, and a year for longer ones.
type calendar struct {
	Unit    string // what a row is
	Columns []string
	Rows    []calendarRow
}

// A calendarRow is a month or a year, by the calendar's unit.
type calendarRow struct {
	Name  string
	Cells []calendarCell // as many as there are columns
}

// A calendarCell is a partition. A cell without a name has none.
type calendarCell struct {
	Name  string
	State state
	Page  bool // the partition has a page in an export too
}

// calendar lays out the table's partitions.
func (l TableState) calendar() calendar {
	c := calendar{Unit: "Year"}
	switch l.Period {
	case refresh.Day:
		c.Unit, c.Columns = "Month", numbered("", 31)
	case refresh.Week:
		c.Columns = numbered("", 53)
	case refresh.Month:
		c.Columns = []string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
	case refresh.Quarter:
		c.Columns = numbered("Q", 4)
	case refresh.Year, refresh.Whole:
		c.Columns = []string{"Whole"}
	}
	paged := l.withPage()
	for _, e := range slices.Backward(l.Calendar) {
		row, column := placeOf(l.Period, e.Partition)
		if n := len(c.Rows); n == 0 || c.Rows[n-1].Name != row {
			c.Rows = append(c.Rows, calendarRow{row, make([]calendarCell, len(c.Columns))})
		}
		c.Rows[len(c.Rows)-1].Cells[column] = calendarCell{day(e.Partition), l.state(e.Condition), paged[e.Partition]}
	}
	return c
}

// placeOf returns the row and the column of a partition.
func placeOf(period refresh.Period, d civil.Date) (row string, column int) {
	year := fmt.Sprintf("%04d", d.Year)
	switch {
	case d == refresh.WholeTable:
		return "All days", 0
	case period == refresh.Day:
		return fmt.Sprintf("%s-%02d", year, d.Month), d.Day - 1
	case period == refresh.Week: // the first days of two weeks are seven days apart, so that no two share a column
		return year, d.DaysSince(civil.Date{Year: d.Year, Month: 1, Day: 1}) / 7
	case period == refresh.Month:
		return year, int(d.Month) - 1
	case period == refresh.Quarter:
		return year, (int(d.Month) - 1) / 3
	}
	return year, 0
}

// numbered returns n names: the prefix followed by 1 to n.
func numbered(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, prefix+strconv.Itoa(i+1))
	}
	return names
}

// newestPages is how many of a table's newest partitions have a page in an export. mostPages is how
// many others may have one, because a person may have to look at them.
const (
	newestPages = 92
	mostPages   = 200
)

// withPage returns the partitions that have a page in an export.
func (l TableState) withPage() map[civil.Date]bool {
	paged := map[civil.Date]bool{}
	others := 0
	for i, e := range slices.Backward(l.Calendar) {
		if i >= len(l.Calendar)-newestPages {
			paged[e.Partition] = true
		} else if others < mostPages && l.problem(e.Condition) >= 0 {
			paged[e.Partition] = true
			others++
		}
	}
	return paged
}

// A legendRow explains one colour, and says how many partitions are in each condition that is shown
// in it.
type legendRow struct {
	Means  string
	Counts []conditionCount
}

// A conditionCount is how many partitions are in a condition.
type conditionCount struct {
	State state
	Count int
}

// legendOf explains the colours and glyphs of the tables' partitions. The colour that needs a
// person most comes first.
func legendOf(tables ...TableState) (rows []legendRow) {
	n := map[state]int{}
	for _, l := range tables {
		for _, e := range l.Calendar {
			n[l.state(e.Condition)]++
		}
	}
	for _, colour := range colours {
		row := legendRow{Means: colour.Means}
		for _, c := range refresh.Conditions {
			if s := (state{colour.Class, conditions[c].Glyph, string(c)}); n[s] > 0 {
				row.Counts = append(row.Counts, conditionCount{s, n[s]})
			}
		}
		if row.Counts != nil {
			rows = append(rows, row)
		}
	}
	return rows
}
