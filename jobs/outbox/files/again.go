package files

import (
	"slices"
	"strings"

	"github.com/reportferry/reportferry/jobs/outbox"
)

// A correctedRejects reads the rows of a rejects file that a person has corrected, as if they stood
// in the file that they came from. A nil correctedRejects stands for any other file, and returns
// its rows unchanged.
type correctedRejects struct {
	width int   // columns of the rejects file
	keep  []int // indexes of those columns that the original file had
}

// newCorrectedRejects returns nil unless the header has all of outbox.RejectColumns.
func newCorrectedRejects(header []string) *correctedRejects {
	a := &correctedRejects{width: len(header)}
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

// cells removes from a row the columns that the rejects file added. If the row has too few or too
// many cells, it is returned unchanged, and right is false.
func (a *correctedRejects) cells(row []string) (cells []string, right bool) {
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

// holdsJSONLines reports whether the original file was a JSON file. The rejects file then has one
// column whose cells are its lines.
func (a *correctedRejects) holdsJSONLines(columns []string) bool {
	return a != nil && slices.Equal(columns, lineColumn)
}

// lineColumn is the name of the column for the lines of a JSON file in a rejects file.
var lineColumn = []string{"line"}

// Instead returns what a person should write in place of what is wrong, for the rejects file. right
// holds, by field, what may stand there; for what is wrong with a whole row it holds the advice by
// the reason of the refusal.
func Instead(r outbox.Rejection, right map[string]string) string {
	switch {
	case strings.HasSuffix(r.Reason, "it may have been taken then"):
		return "nothing, if the service turns out to have it"
	case strings.HasPrefix(r.Reason, "the service took a part"):
		return "what the service's words name; the rest of the row has arrived, and may be sent again"
	case strings.HasPrefix(r.Reason, "the service "): // answers of the service are quoted with this beginning
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
