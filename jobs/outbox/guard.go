package outbox

import (
	"strings"
	"unicode/utf8"
)

// RejectColumns are the columns that a rejects file has after those of the file itself: which field
// is wrong and why, what to write instead, and where the row was. When the header of a file has all
// of them, its reader ignores these columns, so that a rejects file can be corrected, renamed and
// pushed as it is.
var RejectColumns = []string{"rejected_field", "rejected_because", "write_instead", "rejected_row", "rejected_file"}

// The first letters of cells that a spreadsheet takes for a formula, and the mark that is put
// before them.
const (
	formulas = "=+-@\t\r"
	mark     = "'"
)

// Guarded returns a cell as a rejects file has it. It puts an apostrophe before a text that a
// spreadsheet would take for a formula: partners choose their cells, and opening a file mustn't run
// them. A cell that begins with an apostrophe already may get another one, so that Unguarded
// returns the very same cell. Numbers with a sign compute to themselves, and stay as they are.
func Guarded(cell string) string {
	if cell == "" || !strings.ContainsRune(formulas+mark, rune(cell[0])) || isNumber(cell) {
		return cell
	}
	return mark + cell
}

// Unguarded returns the cell that was given to Guarded.
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

// isNumber tells whether a cell is a sign followed by digits, points and commas.
func isNumber(cell string) bool {
	digits := strings.TrimLeft(cell, "+-")
	return len(cell)-len(digits) == 1 && strings.ContainsAny(digits, "0123456789") &&
		strings.Trim(digits, "0123456789.,") == ""
}

// fit appends a row's cells to into, cut or filled up to the number of columns of the file. In a
// row with more cells, the last one holds the rest, joined with the separator: this reads well in a
// text editor, and the columns that follow stay in their places.
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
