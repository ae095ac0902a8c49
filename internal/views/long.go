package views

import (
	"fmt"
	"slices"
	"strings"
)

// A Long describes a view in long form: for each row of a summed table, the view has a row for each
// key.
type Long struct {
	Of     Table
	Name   string     // ends the view's name
	Keys   []string   // the names of the columns of Rows; the first column differs from key to key
	Rows   [][]string // the keys, each value as it is written in SQL
	Shown  []string   // the columns of Keys that the view has
	Values []Value
	Ripe   Ripe
}

// A Value is a column of a view in long form.
type Value struct {
	Name string
	// The column of the table that has the value, by the first value of a key. nil means the column
	// of this name, for all keys.
	From map[string]string
}

// Ripe says when the row of a key is ripe: so many days after the end of its date's period as the
// key's column Days has.
type Ripe struct {
	Period string // of the date: day, week, month, quarter or year; empty when the view has no column ripe
	Ahead  int    // minutes by which the date's zone is ahead of UTC
	Days   string // the name of a column of Keys
}

// periodLengths are the lengths of periods as intervals: a number and a unit.
var periodLengths = map[string][2]any{"day": {1, "DAY"}, "week": {7, "DAY"}, "month": {1, "MONTH"},
	"quarter": {3, "MONTH"}, "year": {1, "YEAR"}}

// Long returns the view of a table in long form. It has the rows that the condition where leaves,
// or all if where is empty.
func (p Place) Long(l Long, where string) (View, error) {
	// The inner query sums only the columns that are used.
	of, used := l.Of, map[string]bool{}
	for _, v := range l.Values {
		used[v.Name] = used[v.Name] || v.From == nil
		for _, from := range v.From {
			used[from] = true
		}
	}
	of.Sums = slices.DeleteFunc(slices.Clone(of.Sums), func(name string) bool { return !used[name] })
	of.Ratios = slices.DeleteFunc(slices.Clone(of.Ratios), func(r Ratio) bool { return !used[r.Name] })
	wide, err := p.Summed(of, where)
	if err != nil {
		return View{}, err
	}
	// The columns of the view, and a query that has a row for each key.
	var columns, rows []string
	if l.Of.On != "" {
		columns = append(columns, p.Quote(l.Of.On))
	}
	for _, name := range append(l.Of.By[:len(l.Of.By):len(l.Of.By)], l.Shown...) {
		columns = append(columns, p.Quote(name))
	}
	if span, known := periodLengths[l.Ripe.Period]; known {
		over := fmt.Sprintf(p.addInterval, "CAST("+p.Quote(l.Of.On)+" AS DATE)", span[0], span[1])
		columns = append(columns, fmt.Sprintf(p.daysBetween, over, fmt.Sprintf(p.today,
			l.Ripe.Ahead))+" >= "+p.Quote(l.Ripe.Days)+" AS "+p.Quote("ripe"))
	}
	for _, v := range l.Values {
		if v.From == nil {
			columns = append(columns, p.Quote(v.Name))
			continue
		}
		text := "CASE " + p.Quote(l.Keys[0])
		for _, row := range l.Rows {
			if from, has := v.From[row[0]]; has {
				text += " WHEN " + row[0] + " THEN " + p.Quote(from)
			}
		}
		columns = append(columns, text+" END AS "+p.Quote(v.Name))
	}
	for _, row := range l.Rows {
		var values []string
		for i, value := range row {
			values = append(values, value+" AS "+p.Quote(l.Keys[i]))
		}
		rows = append(rows, "SELECT "+strings.Join(values, ", "))
	}
	return View{l.Of.Name + l.Name, fmt.Sprintf("SELECT\n  %s\nFROM (\n%s\n) AS wide\nCROSS JOIN (\n%s\n) AS keys",
		strings.Join(columns, ",\n  "), wide.Query, strings.Join(rows, "\nUNION ALL "))}, nil
}
