// Package outboxtest reads rejects files as a spreadsheet would, for the tests of all packages that
// write or show them. Without it, each of those tests would know the file's form in its own way. It
// shares no code with what writes the files.
package outboxtest

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"
)

// added are the columns that follow those of the file that was pushed.
var added = []string{"rejected_field", "rejected_because", "write_instead", "rejected_row", "rejected_file"}

// A Reject is one row of a rejects file.
type Reject struct {
	Cells                            []string // as they stand in the file
	Field, Because, Instead, Row, Of string   // those that were added
}

// String returns the row's number, what is wrong, and the cells, with commas between.
func (r Reject) String() string {
	return strings.Join(append([]string{r.Row, r.Field, r.Because}, r.Cells...), ",")
}

// Rejects reads a rejects file whose cells have separators between them. It fails the test if Excel
// would misread the file, or if its rows and columns don't fit together.
func Rejects(t testing.TB, text string, separator rune) (names []string, rows []Reject) {
	t.Helper()
	text, marked := strings.CutPrefix(text, "\ufeff")
	if !marked {
		t.Errorf("the rejects have no mark of UTF-8: %q", text)
	}
	in := csv.NewReader(strings.NewReader(text))
	in.Comma = separator
	all, err := in.ReadAll() // it refuses rows with different numbers of cells
	if err != nil || len(all) < 2 {
		t.Fatalf("rejects: %v: %q", err, text)
	}
	n := len(all[0]) - len(added)
	if n < 1 || !slices.Equal(all[0][n:], added) {
		t.Fatalf("rejects: the columns are %q", all[0])
	}
	for _, cells := range all[1:] {
		rows = append(rows, Reject{cells[:n], cells[n], cells[n+1], cells[n+2], cells[n+3], cells[n+4]})
	}
	return all[0][:n], rows
}

// Text returns the rows without the columns' names, each on a line of its own and as String writes
// it.
func Text(rows []Reject) string {
	var lines []string
	for _, r := range rows {
		lines = append(lines, r.String())
	}
	return strings.Join(lines, "\n")
}
