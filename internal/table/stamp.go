package table

import (
	"errors"
	"slices"
	"time"

	"github.com/reportferry/reportferry/internal/catalog"
)

// A Stamp says what a column has about the fetch that wrote a file, instead of a cell of an answer.
// It is the same in all rows of the file and no part of the content hash: the same rows are the
// same content, whoever fetched them and when.
type Stamp string

// The stamps.
const (
	LoadedAt Stamp = "loaded_at" // when the fetch began
	LoadedBy Stamp = "run"       // the ID of the run that fetched
)

// Stamped is the column of a stamp. Its cells aren't NULL, but a reader finds NULL where older
// files lack it.
func Stamped(s Stamp) Column {
	if s == LoadedAt {
		return Column{Name: "_" + string(s), Type: catalog.Instant, Stamp: s}
	}
	return Column{Name: "_" + string(s), Type: catalog.String, Stamp: s}
}

// content are the columns whose cells count for the hash.
func content(columns []Column) []Column {
	return slices.DeleteFunc(slices.Clone(columns), func(c Column) bool { return c.Stamp != "" })
}

// Loaded says when the fetch of the rows to come began. A table with a column for it wants to know
// before the first row, and what was said last holds until the end of the converter.
func (c *Converter) Loaded(at time.Time) { c.loaded = at }

// errUnstamped is a mistake of the caller's.
var errUnstamped = errors.New("the table says when its rows were fetched, and nobody has said when")

// stamped tells whether all that the stamps tell is known.
func (c *Converter) stamped() bool {
	return !c.loaded.IsZero() || !slices.ContainsFunc(c.columns, func(col Column) bool { return col.Stamp == LoadedAt })
}

// stamp fills a column with what its stamp tells. The hashes of the rows stay as they are.
func (c *Converter) stamp(b *batch, i int) bool {
	for _, m := range b.members {
		if c.columns[i].Stamp == LoadedAt {
			values, at := m.group.Values(i)[:len(m.rows)], c.loaded.UnixMicro()
			for k := range values {
				values[k] = at
			}
			continue
		}
		texts, ids := m.group.Texts(i)
		for k := range m.rows {
			ok := false
			if texts.Raw() {
				ok = texts.Append([]byte(c.run))
			} else {
				ids[k], _, ok = texts.ID([]byte(c.run))
			}
			if !ok {
				return false
			}
		}
	}
	return true
}
