package files

import (
	"slices"
	"strings"

	"github.com/reportferry/reportferry/jobs/outbox"
)

// again reads the rows of a rejects file that was corrected, as if they stood in the file that they
// came from. nil reads those of any other file.
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

// cells takes what was added out of a row. A row that has too few cells or too many stays as it is,
// and isn't right.
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

// Instead is what a person writes in the place of what isn't right, for the rejects file. right
// says of each field what may stand there, and of a row as a whole by the reason why it was
// refused.
func Instead(r outbox.Rejection, right map[string]string) string {
	switch {
	case strings.HasSuffix(r.Reason, "it may have been taken then"):
		return "nothing, if the service turns out to have it"
	case strings.HasPrefix(r.Reason, "the service took a part"):
		return "what the service's words name; the rest of the row has arrived, and may be sent again"
	case strings.HasPrefix(r.Reason, "the service "): // so begin the words of its answers
		return "what the service's words ask for; as it stands, the row would be refused again"
	case right[r.Reason] != "":
		return right[r.Reason]
	case r.Field != "":
		return right[r.Field]
	case strings.Contains(r.Reason, "JSON"), strings.Contains(r.Reason, "has a key"):
		return `one JSON object, such as {"name": "value"}, of the keys that the job names`
	case strings.Contains(r.Reason, "quote"):
		return `a quote inside of a cell twice, and one before and one after the whole cell: "so ""called"" spend"`
	case strings.Contains(r.Reason, "cells"):
		return "a cell under each name, empty where there is nothing to say; one that holds a separator stands in " +
			"double quotes"
	}
	return ""
}
