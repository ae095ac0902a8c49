package files

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// totalLabels are the lower-case words with which platforms label a row of totals. A blank, a colon
// or a bracket may follow them.
var totalLabels = []string{"total", "totals", "grand total", "sub total", "subtotal", "sub-total", "sum", "overall",
	"overall total", "report total",
	"summe", "gesamt", "gesamtsumme", "gesamtergebnis", "insgesamt", "zwischensumme",
	"totaux", "somme", "totale", "suma", "soma", "totaal", "итого", "всего", "合計", "合计", "总计", "總計", "합계"}

// isTotal reports whether a cell is the label of a row of totals, such as "Total: 5 clicks".
func isTotal(cell string) bool {
	if cell != "" && cell[0] < utf8.RuneSelf && strings.IndexByte(" \ttgsoiTGSOI", cell[0]) < 0 {
		return false // nearly all cells
	}
	cell = strings.ToLower(strings.TrimSpace(cell))
	for _, word := range totalLabels {
		rest, is := strings.CutPrefix(cell, word)
		if !is {
			continue
		}
		next, size := utf8.DecodeRuneInString(rest)
		switch {
		case rest == "", unicode.IsSpace(next), strings.ContainsRune("(（[：", next):
			return true
		case next == ':': // an ID may have a colon in it
			after, _ := utf8.DecodeRuneInString(rest[size:])
			if rest[size:] == "" || unicode.IsSpace(after) {
				return true
			}
		}
	}
	return false
}

// absent reports whether a cell is empty, or has only the dashes that mean so in a row of totals.
func absent(cell string) bool {
	return cell == "" || (cell[0] < '0' || cell[0] >= utf8.RuneSelf) && strings.Trim(cell, " \t\u00a0-–—") == ""
}

// skipReason returns the reason why a row is no record, or an empty string for a record, even a
// wrong one. A row is skipped only when it can't be a wrongly written record: it has no ID, or a
// label in place of the ID. A note must also have no amount. names are the file's columns, and from
// has the column of each field.
func (m Mapping) skipReason(l *Row, names []string, from []string) string {
	// Return early for nearly all rows: those with an ID that is no label, and with an amount.
	id, amount, amounts := "", "", false
	for f, field := range m.Fields {
		switch {
		case field.ID && l.Refused == nil && !absent(l.Values[f]) && l.Values[f] != from[f]:
			id = l.Values[f]
		case field.Number && from[f] != "":
			amounts = true
			if l.Refused == nil {
				amount = l.Values[f]
			}
		}
	}
	if l.Refused == nil && id != "" && !isTotal(id) && (!amounts || amount != "") {
		return ""
	}
	cells := l.Cells()
	first := slices.IndexFunc(cells, func(c string) bool { return !absent(c) })
	switch {
	case isTotal(id):
		return "is a row of totals"
	case len(names) < 2 || len(cells) > len(names) || len(cells) == 0 || len(cells) == 1 &&
		strings.Contains(cells[0], `"`):
		return "" // a line of JSON, or a row that can't be split
	case first < 0:
		return "is empty"
	case slices.Equal(cells, names):
		return "repeats the names"
	case isTotal(cells[first]) && m.lacks(cells, names, from, func(f Field) bool { return f.ID },
		func(at int) bool { return absent(cells[at]) || isTotal(cells[at]) }):
		return "is a row of totals"
	case strings.ContainsFunc(strings.TrimSpace(cells[first]), unicode.IsSpace) &&
		(len(cells) < len(names) || lastFilled(cells) == first) &&
		m.lacks(cells, names, from, func(f Field) bool { return f.ID }, func(at int) bool {
			return absent(cells[at]) ||
				at == first
		}) &&
		m.lacks(cells, names, from, func(f Field) bool { return f.Number },
			func(at int) bool { return !strings.ContainsAny(cells[at], "0123456789") }):
		return "is a note"
	}
	return ""
}

// lacks reports whether the function nothing returns true for the column of each field that such
// accepts. Fields without a column in this row don't count.
func (m Mapping) lacks(cells, names, from []string, such func(Field) bool, nothing func(at int) bool) bool {
	for f, field := range m.Fields {
		if at := slices.Index(names, from[f]); such(field) && at >= 0 && at < len(cells) && !nothing(at) {
			return false
		}
	}
	return true
}

// lastFilled returns the index of the last cell that isn't absent, or -1.
func lastFilled(cells []string) int {
	for i, c := range slices.Backward(cells) {
		if !absent(c) {
			return i
		}
	}
	return -1
}
