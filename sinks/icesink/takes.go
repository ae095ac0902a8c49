package icesink

import (
	"context"

	"github.com/reportferry/reportferry/sinks"
)

// Takes sees whether a table, as it is or once it has the columns that it lacks, takes parts of a
// schema. It changes nothing, and a table that isn't there yet takes them.
func (s *Sink) Takes(ctx context.Context, table string, schema *sinks.Schema) error {
	name := sinks.Flat(table)
	t := s.committer(name).lately()
	if t == nil {
		var err error
		if t, err = s.at(ctx, name); err != nil || t == nil {
			return s.explain(err)
		}
	}
	_, err := compare(name, t.Table, schema)
	return err
}
