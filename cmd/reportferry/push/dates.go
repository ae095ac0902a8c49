package push

import (
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/dateform"
)

// dateForms are the forms of times that occur in partners' files, as the config writes them.
// Several may read the same cells, such as DD/MM/YYYY and MM/DD/YYYY; only a day above 12 shows
// which it is.
var dateForms = func() (all []string) {
	for _, day := range []string{"YYYY-MM-DD", "DD.MM.YYYY", "DD/MM/YYYY", "MM/DD/YYYY", "YYYY/MM/DD", "DD-MM-YYYY",
		"MM-DD-YYYY", "YYYYMMDD", "D.M.YYYY", "D/M/YYYY", "M/D/YYYY", "DD.MM.YY", "DD/MM/YY", "MM/DD/YY",
		"MMM D, YYYY"} {
		for _, clock := range []string{"", " HH:mm", " HH:mm:ss", " hh:mm A", " hh:mm:ss A", " h:mm A", " h:mm:ss A",
			"THH:mm:ss", "THH:mm"} {
			all = append(all, day+clock)
		}
	}
	return all
}()

// dateForm returns the first form that reads all cells of a column, and in other a form that reads
// all of them too, but as different times.
func (f *spendFile) dateForm(at int) (form, other string) {
	var first []time.Time
	for _, candidate := range dateForms {
		layout, err := dateform.Layout(candidate)
		if err != nil {
			continue
		}
		read := f.times(at, layout)
		switch {
		case len(read) == 0:
		case form == "":
			form, first = candidate, read
		case !sameDates(first, read):
			return form, candidate
		}
	}
	return form, ""
}

// times returns the times in a column's cells, skipping empty cells. It returns none if a cell
// doesn't have the layout.
func (f *spendFile) times(at int, layout string) (all []time.Time) {
	for _, row := range f.Rows {
		if at >= len(row) || strings.TrimSpace(row[at]) == "" {
			continue
		}
		t, err := dateform.Parse(layout, row[at], time.UTC)
		if err != nil {
			return nil
		}
		all = append(all, t)
	}
	return all
}

// sameDates tells whether two lists of equal length have the same times.
func sameDates(a, b []time.Time) bool {
	for i := range a {
		if !a[i].Equal(b[i]) {
			return false
		}
	}
	return true
}
