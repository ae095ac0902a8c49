package files

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// A Field is one value of a record.
type Field struct {
	Name string
	From From
	ID   bool // it says what a record is about: a row of totals has a label in its place, or nothing
	JSON bool // an object of a JSON file is taken as its text

	Number, Time bool // what Format says of such texts counts
}

// From says where a field comes from that a Mapping doesn't name.
type From int

// The ways.
const (
	Own   From = iota // the column of its own name, which must be there
	Found             // the column of its own name, where a file has one and no other field is taken from it
)

// A Mapping says where the fields of a record come from.
type Mapping struct {
	Fields    []Field
	Columns   map[string]string // field -> column of the file, or key of its objects
	Constants map[string]string // field -> its value in every record

	Strict bool     // a column that no field is taken from is an error, unless
	Ignore []string // it is one of these

	Format Format

	// Score tells how much a row looks like that of names, of a file whose columns nobody has named
	// yet; nil: they are named.
	Score func(row []string) int
}

// sources are the columns of the fields; empty: the field has none. must says which the file has to
// have.
func (m Mapping) sources() (from []string, must []bool) {
	from, must = make([]string, len(m.Fields)), make([]bool, len(m.Fields))
	for i, f := range m.Fields {
		_, constant := m.Constants[f.Name]
		column, mapped := m.Columns[f.Name]
		switch {
		case constant:
		case mapped:
			from[i], must[i] = column, true
		case f.From == Own:
			from[i], must[i] = f.Name, true
		case !m.takes(f.Name):
			from[i] = f.Name
		}
	}
	return from, must
}

// takes tells whether a field is taken from a column.
func (m Mapping) takes(column string) bool {
	for _, name := range m.Columns {
		if name == column {
			return true
		}
	}
	return false
}

// Has tells whether the mapping says where a field comes from.
func (m Mapping) Has(field string) bool {
	_, constant := m.Constants[field]
	_, mapped := m.Columns[field]
	return constant || mapped
}

// fill sets the fields that are the same in every record.
func (m Mapping) fill(values []string) {
	if len(m.Constants) == 0 {
		return
	}
	for i, f := range m.Fields {
		if s, ok := m.Constants[f.Name]; ok {
			values[i] = s
		}
	}
}

// find gives where the fields' columns are; -1: nowhere. Its errors list what the file has only
// when one of its columns is known: without a header, that would be its first record.
func (m Mapping) find(columns []string) (at []int, err error) {
	from, must := m.sources()
	at = make([]int, len(from))
	for f, column := range from {
		at[f] = -1
		if column == "" {
			continue
		}
		name := m.Fields[f].Name
		if at[f] = slices.Index(columns, column); at[f] < 0 {
			if !must[f] {
				continue
			}
			have, hint := fmt.Sprintf("%d columns", len(columns)), "; is the row of names missing?"
			if slices.ContainsFunc(at[:f], func(i int) bool { return i >= 0 }) ||
				slices.ContainsFunc(from[f+1:], func(c string) bool { return slices.Contains(columns, c) }) {
				have = "columns " + shown(columns)
				hint = fmt.Sprintf(". Say which column it is with columns: {%s: NAME}, or give all rows one value "+
					"with constants: {%s: VALUE}.", name, name)
			}
			if i := slices.IndexFunc(columns, func(c string) bool { return letters(c) == letters(column) }); i >= 0 {
				hint = fmt.Sprintf("; did you mean %q?", columns[i])
			}
			return at, fmt.Errorf("none of its %s is %q, which %s is taken from%s", have, column, name, hint)
		}
		if slices.Contains(columns[at[f]+1:], column) {
			return at, fmt.Errorf("two of its columns are %q, which %s is taken from", column, name)
		}
	}
	if m.Strict {
		for i, column := range columns {
			if !slices.Contains(at, i) && !slices.Contains(m.Ignore, column) {
				named := fmt.Sprintf("column %d of %d", i+1, len(columns))
				if slices.ContainsFunc(at, func(i int) bool { return i >= 0 }) && isName(column) {
					named = fmt.Sprintf("the column %q", column)
				}
				return at, fmt.Errorf("no field is taken from %s; is its name misspelt, or not among those to ignore?",
					named)
			}
		}
	}
	return at, nil
}

// mostNames of columns are listed.
const mostNames = 30

// shown lists columns, those by their numbers that may be no names.
func shown(columns []string) string {
	var list []string
	for i, c := range columns[:min(len(columns), mostNames)] {
		if !isName(c) {
			c = fmt.Sprintf("(number %d)", i+1)
		}
		list = append(list, c)
	}
	if len(columns) > mostNames {
		list = append(list, "...")
	}
	return strings.Join(list, ", ")
}

// isName tells whether a cell of the row of names may be shown: an ID in a file without names has
// more digits, and two lines that weren't cut have a control character.
func isName(cell string) bool {
	digits := 0
	for _, r := range cell {
		if unicode.IsControl(r) {
			return false
		}
		if unicode.IsDigit(r) {
			digits++
		}
	}
	return digits < 4 && len(cell) <= 64
}

// letters is a name without what people write differently. Of letters beyond ASCII, each is itself
// alone.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			return -1
		case r > unicode.MaxASCII:
			return r
		}
		return unicode.ToLower(r)
	}, name)
}
