package outbox

import (
	"strings"
	"unicode/utf8"
)

// RejectColumns are the columns of a rejects file behind those of the file itself: which field
// isn't right and why, what to write in its place, and where the row was. Whoever reads a file that
// has them all in its first row leaves them out, so that a rejects file can be corrected, given
// another name and pushed as it is.
var RejectColumns = []string{"rejected_field", "rejected_because", "write_instead", "rejected_row", "rejected_file"}

// The first letters of cells that a spreadsheet takes for a formula, and the mark that is put
// before them.
const (
	formulas = "=+-@\t\r"
	mark     = "'"
)

// Guarded is a cell of a rejects file. Before what a spreadsheet would compute, and perhaps store
// back, stands an apostrophe: partners choose their cells, and a file that is opened mustn't run
// them. A cell that has the mark already gets another one, so that Unguarded gives the very cell.
// Numbers with a sign compute to themselves, and stay as they are.
func Guarded(cell string) string {
	if cell == "" || !strings.ContainsRune(formulas+mark, rune(cell[0])) || isNumber(cell) {
		return cell
	}
	return mark + cell
}

// Unguarded is the cell that Guarded made.
func Unguarded(cell string) string {
	if HasGuard(cell) {
		return cell[len(mark):]
	}
	return cell
}

// HasGuard tells whether Guarded could have put a mark before this cell.
func HasGuard(cell string) bool {
	return len(cell) > len(mark) && strings.HasPrefix(cell, mark) &&
		strings.IndexByte(formulas+mark, cell[len(mark)]) >= 0
}

// isNumber tells whether a cell is a sign before digits, with points and commas among them.
func isNumber(cell string) bool {
	digits := strings.TrimLeft(cell, "+-")
	return len(cell)-len(digits) == 1 && strings.ContainsAny(digits, "0123456789") &&
		strings.Trim(digits, "0123456789.,") == ""
}

// fit gives cells for as many columns as the file has names. Of a row with more, the last cell
// holds the rest, with the separators between: so it reads on in a text editor, and what stands
// behind it stays in its column.
func fit(into, cells []string, columns int, separator rune) []string {
	if len(cells) > columns && columns > 0 {
		rest := strings.Join(cells[columns-1:], string(utf8.AppendRune(nil, separator)))
		cells = append(append(into, cells[:columns-1]...), rest)
	} else {
		cells = append(into, cells...)
	}
	for len(cells) < columns {
		cells = append(cells, "")
	}
	return cells
}
