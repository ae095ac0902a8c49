package guess

import (
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/dateform"
)

// forms are those of times in partners' files, in the config's words. Of those that read all the
// same cells, the days of two of them tell which it is, or nobody can.
var forms = func() (all []string) {
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

// dateForm is the form that reads all cells of a column; other is one that does, too, and reads
// other times.
func (f *File) dateForm(at int) (form, other string) {
	var first []time.Time
	for _, candidate := range forms {
		layout, err := dateform.Layout(candidate)
		if err != nil {
			continue
		}
		read := f.times(at, layout)
		switch {
		case len(read) == 0:
		case form == "":
			form, first = candidate, read
		case !same(first, read):
			return form, candidate
		}
	}
	return form, ""
}

// times are those of a column's cells that aren't empty; none where one of them isn't of the
// layout.
func (f *File) times(at int, layout string) (all []time.Time) {
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

func same(a, b []time.Time) bool {
	for i := range a {
		if !a[i].Equal(b[i]) {
			return false
		}
	}
	return true
}
