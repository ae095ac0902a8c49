package pgsink

import (
	"context"

	"github.com/reportferry/reportferry/sinks"
)

// Takes sees whether a table, as it is or once it has the columns that it lacks, takes parts of a
// schema. It changes nothing, and a table that isn't there yet takes them.
func (s *Sink) Takes(ctx context.Context, table string, schema *sinks.Schema) error {
	name := tableName(table)
	err := s.repeat(ctx, func() error {
		have, err := s.facts(ctx, s.pool, name)
		if err == nil {
			_, err = s.changes(name, have, schema)
		}
		return err
	})
	return s.explain(err)
}
