package pgsink

import (
	"context"

	"github.com/reportferry/reportferry/sinks"
)

// Takes returns an error if a table can't take parts of a schema, even after the missing columns
// are added. It changes nothing. A table that doesn't exist yet can take them.
func (s *Sink) Takes(ctx context.Context, table string, schema *sinks.Schema) error {
	name := tableName(table)
	err := s.repeat(ctx, func() error {
		have, err := s.tableInfo(ctx, s.pool, name)
		if err == nil {
			_, err = s.changes(name, have, schema)
		}
		return err
	})
	return s.explain(err)
}
