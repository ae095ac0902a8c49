package report

import "database/sql"

// answerRows are the rows of a report's answer: as SQLite yields them, or as a silent fault has
// them.
type answerRows struct {
	sqlRows *sql.Rows
	silent  *silentFault // nil: none
	row     []any        // the current row; its slice is used again for the next one
	into    []any        // pointers to the cells of row, for Scan
	again   int          // how often the current row is still to be returned
	some    bool         // next has gone to a row
	err     error

	drifts  []int // cells of cohort metrics that are made higher than the sum of the rows
	percent int64 // by how much they are made higher
}

// newRows returns the rows that SQLite yields, which have width cells. The first call of next goes
// to the first.
func newRows(sqlRows *sql.Rows, width int, l *silentFault) *answerRows {
	a := &answerRows{sqlRows: sqlRows, silent: l, row: make([]any, width), into: make([]any, width)}
	for i := range a.row {
		a.into[i] = &a.row[i]
	}
	return a
}

// next goes on to the next row. It returns false at the end and after an error, which stays in err.
func (a *answerRows) next() bool {
	for a.again == 0 {
		if !a.sqlRows.Next() {
			a.err = a.sqlRows.Err()
			return false
		}
		if a.err = a.sqlRows.Scan(a.into...); a.err != nil {
			return false
		}
		for _, i := range a.drifts {
			if v, sum := a.row[i].(int64); sum {
				a.row[i] = v + v*a.percent/100
			}
		}
		halve := false
		a.again, halve = a.silent.effect(func(i int) string { text, _ := a.row[i].(string); return text })
		if halve {
			switch v := a.row[a.silent.halved].(type) {
			case int64:
				a.row[a.silent.halved] = v / 2
			case float64:
				a.row[a.silent.halved] = v / 2
			}
		}
	}
	a.again--
	a.some = true
	return true
}

// each calls use with the current row, to which next has gone before, and with all that follow.
func (a *answerRows) each(use func(row []any) error) error {
	for more := a.some; more; more = a.next() {
		if err := use(a.row); err != nil {
			return err
		}
	}
	return a.err
}
