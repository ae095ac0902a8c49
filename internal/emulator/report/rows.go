package report

import "database/sql"

// answerRows are the rows of a report's answer: as SQLite yields them, or as a silent fault has
// them.
type answerRows struct {
	found *sql.Rows
	lie   *lie
	row   []any // the one that they stand on; its slice is used again for the next
	into  []any
	again int // how often the row is still to come
	some  bool
	err   error

	drifts  []int // cells of cohort metrics that are higher than rows add up to
	percent int64 // by so much
}

// newRows are the found rows of so many cells, before the first.
func newRows(found *sql.Rows, width int, l *lie) *answerRows {
	a := &answerRows{found: found, lie: l, row: make([]any, width), into: make([]any, width)}
	for i := range a.row {
		a.into[i] = &a.row[i]
	}
	return a
}

// next goes on to the next row. It returns false at the end and after an error, which stays in err.
func (a *answerRows) next() bool {
	for a.again == 0 {
		if !a.found.Next() {
			a.err = a.found.Err()
			return false
		}
		if a.err = a.found.Scan(a.into...); a.err != nil {
			return false
		}
		for _, i := range a.drifts {
			if v, sum := a.row[i].(int64); sum {
				a.row[i] = v + v*a.percent/100
			}
		}
		halve := false
		a.again, halve = a.lie.of(func(i int) string { text, _ := a.row[i].(string); return text })
		if halve {
			switch v := a.row[a.lie.halved].(type) {
			case int64:
				a.row[a.lie.halved] = v / 2
			case float64:
				a.row[a.lie.halved] = v / 2
			}
		}
	}
	a.again--
	a.some = true
	return true
}

// each hands over the rows. They already stand on the first one, if there is one.
func (a *answerRows) each(use func(row []any) error) error {
	for more := a.some; more; more = a.next() {
		if err := use(a.row); err != nil {
			return err
		}
	}
	return a.err
}
