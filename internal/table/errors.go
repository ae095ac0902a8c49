package table

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrEmpty says that an answer has no bytes. Even an answer without rows has a header.
var ErrEmpty = errors.New("the answer is empty: it has no header")

// A HeaderError says how the header of an answer differs from the columns that were asked for.
type HeaderError struct {
	Missing  []string // asked for, not in the header
	Extra    []string // in the header, not asked for: no error by themselves
	Repeated []string // in the header more than once
}

func (e *HeaderError) Error() string {
	var parts []string
	for _, p := range []struct {
		what  string
		names []string
	}{{"lacks", e.Missing}, {"holds without being asked for", e.Extra}, {"repeats", e.Repeated}} {
		if len(p.names) > 0 {
			quoted := make([]string, len(p.names))
			for i, name := range p.names {
				quoted[i] = shorten([]byte(name))
			}
			parts = append(parts, p.what+" "+strings.Join(quoted, ", "))
		}
	}
	return "the header of the answer " + strings.Join(parts, "; it ")
}

// A CellError says which cell doesn't fit its column, and why.
type CellError struct {
	Row    int64  // data row, from 1; the header is row 0
	Line   int64  // line of the answer on which the row begins, from 1; 0 for a typed row
	Column string // as the CSV header names it, or a typed row's Column.Name; "" when the whole row is wrong
	Value  string // quoted, shortened to 40 characters
	Reason string
}

func (e *CellError) Error() string {
	where := fmt.Sprintf("row %d", e.Row)
	if e.Line > 0 {
		where += fmt.Sprintf(" (line %d)", e.Line)
	}
	if e.Column != "" {
		where += ", column " + shorten([]byte(e.Column))
	}
	if e.Value == "" {
		return where + ": " + e.Reason
	}
	return where + ": " + e.Value + " " + e.Reason
}

// shorten quotes a value for a message, cut to 40 characters, with everything unprintable escaped.
func shorten(value []byte) string {
	const most = 40
	end, n := 0, 0
	for end < len(value) {
		if n == most {
			return strconv.Quote(string(value[:end])) + "..."
		}
		_, size := utf8.DecodeRune(value[end:])
		end += size
		n++
	}
	return strconv.Quote(string(value))
}
