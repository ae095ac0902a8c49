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
	ID   bool // it identifies the record; in a row of totals it is a label or empty
	JSON bool // an object or a list of a JSON file is accepted, as its text

	Number, Time bool // texts are converted as Format says
}

// From says where to find a field that a Mapping doesn't name.
type From int

// These are the values of From.
const (
	Own   From = iota // in the column of its name, which must exist
	Found             // in the column of its name, if that exists and no other field is taken from it
)

// A Mapping says where the fields of a record come from.
type Mapping struct {
	Fields    []Field
	Columns   map[string]string // field -> column of the file, or key of its objects
	Constants map[string]string // field -> its value in every record

	Strict bool     // columns from which no field is taken are an error, unless listed in Ignore
	Ignore []string // columns that Strict accepts

	Format Format

	// Score rates how much a row looks like the row of names, for a file whose columns nobody has
	// named yet. If it is nil, the columns are named.
	Score func(row []string) int
}

// sources returns the column of each field, empty for a field without one, and whether the file
// must have it.
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
		case !m.isMapped(f.Name):
			from[i] = f.Name
		}
	}
	return from, must
}

// isMapped reports whether Columns takes some field from a column.
func (m Mapping) isMapped(column string) bool {
	for _, name := range m.Columns {
		if name == column {
			return true
		}
	}
	return false
}

// Has reports whether the mapping says where a field comes from.
func (m Mapping) Has(field string) bool {
	_, constant := m.Constants[field]
	_, mapped := m.Columns[field]
	return constant || mapped
}

// fillConstants sets the fields that are the same in every record.
func (m Mapping) fillConstants(values []string) {
	if len(m.Constants) == 0 {
		return
	}
	for i, f := range m.Fields {
		if s, ok := m.Constants[f.Name]; ok {
			values[i] = s
		}
	}
}

// find returns the index of each field's column, or -1. Its errors list the file's columns only if
// one of them is known, because the first row of a file without names is a record.
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
				have = "columns " + columnList(columns)
				hint = fmt.Sprintf(". Say which column it is with columns: {%s: NAME}, or give all rows one value "+
					"with constants: {%s: VALUE}.", name, name)
			}
			if i := slices.IndexFunc(columns, func(c string) bool { return bareName(c) == bareName(column) }); i >= 0 {
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

// mostNames limits how many columns an error lists.
const mostNames = 30

// columnList lists columns for an error. A column that may be no name is listed by its number.
func columnList(columns []string) string {
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

// isName reports whether a cell of the row of names may be shown. IDs in a file without names have
// more digits, and lines that weren't split contain a control character.
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

// bareName returns a name in lower case and without punctuation, to compare what people write
// differently. Letters beyond ASCII keep their case.
func bareName(name string) string {
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
