package guess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/jobs/spend"
)

// A Field is what a file has for one field of a record of spend.
type Field struct {
	Name   string
	Column string   // empty: none fits
	Also   []string // columns that fit as well
	Wrong  string   // a column that fits by its name and not by its cells
	Why    string   // what is wrong with those
}

// Columns finds the columns of the fields, by their names and by what their cells hold: a column whose cells can't be sent as
// the field isn't taken for it, whatever it is called. currency is what the name of the amount says; it may be empty.
func (f *File) Columns() (fields []Field, currency string) {
	isCurrency := func(code string) bool { return spend.Fits("cost_currency", code) == "" }
	taken := map[int]bool{}
	for _, name := range spend.Fields() {
		type candidate struct {
			at, rank int
			currency string
		}
		var found []candidate
		for at, column := range f.Names {
			if rank, of := named(name, column, isCurrency); rank >= 0 && !taken[at] {
				found = append(found, candidate{at, rank, of})
			}
		}
		slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
		field := Field{Name: name}
		for _, c := range found {
			column := f.Names[c.at]
			why := f.misfit(name, c.at)
			if why != "" && name == "engaged_at" {
				why = f.misread(c.at, why)
			}
			switch {
			case why != "" && field.Wrong == "":
				field.Wrong, field.Why = column, why
			case why != "":
			case field.Column == "":
				field.Column, taken[c.at] = column, true
				currency = cmp.Or(currency, c.currency)
			default:
				field.Also = append(field.Also, column)
			}
		}
		fields = append(fields, field)
	}
	return fields, currency
}

// misfit is why a column can't be a field: more than half of the cells that were looked at can't be sent.
func (f *File) misfit(field string, at int) string {
	var first string
	bad, all := 0, 0
	for _, row := range f.Rows {
		if at >= len(row) {
			continue
		}
		all++
		cell := row[at]
		if field == "cost_amount" && f.Decimal == "comma" {
			cell = strings.NewReplacer(",", ".", ".", ",").Replace(cell)
		}
		if why := spend.Fits(field, cell); why != "" {
			if bad++; first == "" {
				first = why
			}
		}
	}
	if 2*bad <= all {
		return ""
	}
	return fmt.Sprintf("of %d cells %d can't be sent; the first %s", all, bad, first)
}

// misread is why a column can't hold times though its form was looked for; empty: Date has it.
func (f *File) misread(at int, why string) string {
	form, other := f.dateForm(at)
	switch {
	case form == "":
		return why
	case other != "":
		return fmt.Sprintf("%s reads them as well as %s; say which under format, date, and name the column", form, other)
	}
	f.Date = form
	return ""
}
