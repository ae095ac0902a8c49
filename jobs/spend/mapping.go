package spend

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// A Mapping says where a record's fields come from. A field that it doesn't name has the column of its own name, except
// engaged_at, which a file needn't have.
type Mapping struct {
	Columns   map[string]string // field -> column of the file, or key of its objects
	Constants map[string]string // field -> its value in every record
}

// sources are the columns of the fields; empty: the field has none.
func (m Mapping) sources() (from [fields]string) {
	for f, name := range names {
		_, constant := m.Constants[name]
		column, mapped := m.Columns[name]
		switch {
		case constant:
		case mapped:
			from[f] = column
		case field(f) != engagedAt:
			from[f] = name
		}
	}
	return from
}

// timed tells whether the file says when engagements were.
func (m Mapping) timed() bool { return m.sources()[engagedAt] != "" }

// fill sets the fields that are the same in every record.
func (m Mapping) fill(v *values) {
	for f, name := range names {
		if s, ok := m.Constants[name]; ok {
			v[f] = s
		}
	}
}

// A place is where the fields are among a file's columns; -1: nowhere.
type place [fields]int

// find looks the fields' columns up. Its errors don't list what the file has: without a header, that would be its first
// record.
func (m Mapping) find(columns []string) (at place, err error) {
	for f, column := range m.sources() {
		at[f] = -1
		if column == "" {
			continue
		}
		if at[f] = slices.Index(columns, column); at[f] < 0 {
			hint := "; is the row of names missing?"
			if i := slices.IndexFunc(columns, func(c string) bool { return letters(c) == letters(column) }); i >= 0 {
				hint = fmt.Sprintf("; did you mean %q?", columns[i])
			}
			return at, fmt.Errorf("none of its %d columns is %q, which %s is taken from%s", len(columns), column, names[f], hint)
		}
		if slices.Contains(columns[at[f]+1:], column) {
			return at, fmt.Errorf("two of its columns are %q, which %s is taken from", column, names[f])
		}
	}
	return at, nil
}

// letters is a name without what people write differently.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}
