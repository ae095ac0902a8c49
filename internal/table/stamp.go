package table

import (
	"errors"
	"slices"
	"time"

	"github.com/reportferry/reportferry/internal/catalog"
)

// A Stamp is a fact about the fetch that wrote a file. A column with a Stamp has this fact instead
// of the cells of an answer. It is the same in all rows of the file and no part of the content
// hash: the same rows are the same content, whichever run fetched them and when.
type Stamp string

// The stamps.
const (
	LoadedAt Stamp = "loaded_at" // when the fetch began
	LoadedBy Stamp = "run"       // the ID of the run that fetched
)

// Stamped returns the column of a stamp. Its cells are never NULL, but readers of several files
// find NULL in the rows of older files that lack the column.
func Stamped(s Stamp) Column {
	if s == LoadedAt {
		return Column{Name: "_" + string(s), Type: catalog.Instant, Stamp: s}
	}
	return Column{Name: "_" + string(s), Type: catalog.String, Stamp: s}
}

// content returns the columns whose cells are part of the content hash.
func content(columns []Column) []Column {
	return slices.DeleteFunc(slices.Clone(columns), func(c Column) bool { return c.Stamp != "" })
}

// Loaded sets the time at which the fetch of the next rows began. A table with a LoadedAt column
// needs the call before its first row. The time holds until the next call.
func (c *Converter) Loaded(at time.Time) { c.loaded = at }

// errUnstamped says that the caller forgot to call Loaded.
var errUnstamped = errors.New("the table says when its rows were fetched, and nobody has said when")

// stamped reports whether the values of all stamps are known.
func (c *Converter) stamped() bool {
	return !c.loaded.IsZero() || !slices.ContainsFunc(c.columns, func(col Column) bool { return col.Stamp == LoadedAt })
}

// stamp fills a column with the value of its stamp, and leaves the hashes of the rows as they are.
// It returns false when the run's ID isn't valid UTF-8.
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
