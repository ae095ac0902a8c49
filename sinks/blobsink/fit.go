package blobsink

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/reportferry/reportferry/sinks"
)

// Fits refuses a table that readers of the files would misread: a table with two columns that they
// take for one, or with a column that is named like a level of the folders (day={date}), because
// readers make a column of the level, too. The tables that describe a table are exempt from the
// second rule, because their columns are the same whatever the layout is.
func (s *Sink) Fits(table string, schema *sinks.Schema) error {
	if _, err := schema.Check(); err != nil || sinks.Flat(table) != table {
		return err
	}
	for level := range strings.SplitSeq(path.Dir(s.url+"/"+string(s.key)), "/") {
		name, _, is := strings.Cut(level, "=")
		for _, c := range schema.Columns {
			if is && strings.EqualFold(c.Name, name) {
				return fmt.Errorf("readers make a column %s of the folder %s, and the table has one of that name "+
					"already; "+
					"name the folder otherwise, as in key={table}/dt={date}/part-0.parquet", c.Name, level)
			}
		}
	}
	return nil
}

// Shares reports whether two sinks have the same bucket and prefix, and such folders that readers
// of the table in one of them find the files of the other, too.
func (s *Sink) Shares(other *Sink, table string) bool {
	a, b := s.key.folder(table), other.key.folder(table)
	return s.location() == other.location() && a != "" && b != "" &&
		(strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

// location returns a name of the bucket and prefix. The name of a folder is its absolute path.
func (s *Sink) location() string {
	id, q := s.bucket.Identity()
	return cmp.Or(s.bucket.Dir(), id+"?"+q.Encode())
}
