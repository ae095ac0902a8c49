package push

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/reportferry/reportferry/jobs/outbox/files"
	"github.com/reportferry/reportferry/jobs/spend"
)

// A spendField says which column of a file has the values of one field of a record of spend.
type spendField struct {
	Name   string
	Column string   // empty: no column fits
	Also   []string // columns that fit as well
	Wrong  string   // a column whose name fits, but whose cells don't
	Why    string   // what is wrong with those cells
}

// columns finds the columns of the fields, by their names and by what their cells hold: a column
// whose cells can't be sent as the field isn't taken for it, whatever it is called. given maps
// fields to the columns that a person has named; an empty name says that the field has no column.
// currency comes from the name of the amount's column or the signs in its cells; it may be empty.
func (f *spendFile) columns(given map[string]string) (fields []spendField, currency string) {
	isCurrency := func(code string) bool { return spend.Fits("cost_currency", code, files.Format{}) == "" }
	taken := map[int]bool{}
	for _, name := range spend.Fields() {
		type candidate struct {
			at, rank int
			currency string
		}
		// The columns whose names fit, the best first.
		var candidates []candidate
		for at, column := range f.Names {
			rank, of := rankOfName(name, column, isCurrency)
			if want, is := given[name]; is {
				rank = -1
				if column == want {
					rank = 0
				}
			}
			if rank >= 0 && !taken[at] {
				candidates = append(candidates, candidate{at, rank, of})
			}
		}
		slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
		// The first one whose cells fit is taken.
		field := spendField{Name: name}
		for _, c := range candidates {
			column := f.Names[c.at]
			why := f.misfit(name, c.at)
			if why != "" && name == "engaged_at" {
				why = f.setDateForm(c.at, why)
			}
			switch {
			case why != "" && field.Wrong == "":
				field.Wrong, field.Why = column, why
			case why != "":
			case field.Column == "":
				field.Column, taken[c.at] = column, true
				if name == "cost_amount" {
					currency = cmp.Or(c.currency, f.currencyInCells(c.at))
				}
			default:
				field.Also = append(field.Also, column)
			}
		}
		fields = append(fields, field)
	}
	return fields, currency
}

// currencyInCells returns the one currency whose sign or code stands in the cells of a column, or
// "" if there is none or more than one.
func (f *spendFile) currencyInCells(at int) (one string) {
	for _, row := range f.Rows {
		if at >= len(row) {
			continue
		}
		code := spend.Currency(row[at], f.format())
		if code == "" || one != "" && one != code {
			return ""
		}
		one = code
	}
	return one
}

// misfit returns why a column can't be a field: more than half of its cells in the rows that were
// read can't be sent, or the reason that repeatsIDs gives. It returns "" if the column can be the
// field.
func (f *spendFile) misfit(field string, at int) string {
	var first string
	bad, all := 0, 0
	for _, row := range f.Rows {
		if at >= len(row) {
			continue
		}
		all++
		if why := spend.Fits(field, row[at], f.format()); why != "" {
			if bad++; first == "" {
				first = why
			}
		}
	}
	if 2*bad <= all {
		return f.repeatsIDs(field, at)
	}
	return fmt.Sprintf("of %d cells %d can't be sent; the first %s", all, bad, first)
}

// repeatsIDs returns why a column can't be the Cost IDs although its cells look like them: many
// rows have the same one, as with the ID of a campaign. It returns "" if there is no such reason.
func (f *spendFile) repeatsIDs(field string, at int) string {
	differ, all := map[string]bool{}, 0
	for _, row := range f.Rows {
		if at < len(row) {
			differ[row[at]] = true
			all++
		}
	}
	if field != "cost_id" || all < 4 || 2*len(differ) >= all {
		return ""
	}
	return fmt.Sprintf("its %d cells have %d IDs: they aren't those of clicks or impressions", all, len(differ))
}

// format returns how numbers and times are written in the file, as far as that is known.
func (f *spendFile) format() files.Format {
	return files.Format{Decimal: files.Decimals[f.Decimal], Thousands: files.Thousands[f.Thousands], Dates: f.Date}
}

// setDateForm looks for the form of the times in a column and puts it into Date. Otherwise it
// returns why the column can't be read: the reason given, or that two forms read it differently.
func (f *spendFile) setDateForm(at int, why string) string {
	form, other := f.dateForm(at)
	switch {
	case form == "":
		return why
	case other != "":
		return fmt.Sprintf("%s reads them as well as %s; say which under format, date, and name the column", form,
			other)
	}
	f.Date = form
	return ""
}

// Duplicate returns the name of a column that occurs twice, or "".
func (f *spendFile) Duplicate() string {
	for i, name := range f.Names {
		if slices.Contains(f.Names[i+1:], name) {
			return name
		}
	}
	return ""
}
