package files

import (
	"slices"

	"github.com/reportferry/reportferry/jobs/outbox"
)

// again reads the rows of a rejects file that was corrected, as if they stood in the file that they came from. nil reads those
// of any other file.
type again struct {
	width int   // columns of the rejects file
	keep  []int // those that the first file had
}

// readAgain tells by its names whether a file is one of rejects.
func readAgain(header []string) *again {
	a := &again{width: len(header)}
	for i, name := range header {
		if !slices.Contains(outbox.RejectColumns, name) {
			a.keep = append(a.keep, i)
		}
	}
	for _, name := range outbox.RejectColumns {
		if !slices.Contains(header, name) {
			return nil
		}
	}
	return a
}

// cells takes what was added out of a row. A row that has too few cells or too many stays as it is, and isn't right.
func (a *again) cells(row []string) (cells []string, right bool) {
	if a == nil {
		return row, true
	}
	if len(row) != a.width {
		return row, false
	}
	cells = row[:0]
	for _, i := range a.keep {
		cells = append(cells, outbox.Unguarded(row[i]))
	}
	return cells, true
}

// ofLines tells whether the first file was one of JSON Lines: each cell of its only column is one.
func (a *again) ofLines(columns []string) bool { return a != nil && slices.Equal(columns, lineColumn) }

// lineColumn is how the rejects file calls the lines of a JSON file.
var lineColumn = []string{"line"}
