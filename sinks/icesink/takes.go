package icesink

import (
	"context"

	"github.com/reportferry/reportferry/sinks"
)

// Takes returns an error if a table can't take parts of a schema, even after the columns that it
// lacks are added. It changes nothing. A table that doesn't exist yet can take them.
func (s *Sink) Takes(ctx context.Context, table string, schema *sinks.Schema) error {
	name := sinks.Flat(table)
	t := s.committer(name).cached()
	if t == nil {
		var err error
		if t, err = s.loadForReading(ctx, name); err != nil || t == nil {
			return s.explain(err)
		}
	}
	_, err := compare(name, t.Table, schema)
	return err
}
