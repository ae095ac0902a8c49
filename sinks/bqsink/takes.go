package bqsink

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	"github.com/reportferry/reportferry/sinks"
)

// Takes sees whether a table, as it is or once it has the columns that it lacks, takes parts of a schema. It changes nothing, and a table
// that isn't there yet takes them.
func (s *Sink) Takes(ctx context.Context, table string, schema *sinks.Schema) error {
	name := sinks.Flat(table)
	k := s.tables.of(name)
	if err := k.take(ctx); err != nil {
		return err
	}
	defer k.give()
	if k.table != nil && reflect.DeepEqual(k.schema, schema) {
		return nil
	}
	if err := checkSchema(schema); err != nil {
		return err
	}
	if _, err := s.locateDataset(ctx); err != nil {
		return err
	}
	have, err := s.getTable(ctx, name)
	if hasStatus(err, http.StatusNotFound) {
		_, err = newTable(schema)
		return err
	}
	if err != nil {
		return fmt.Errorf("look up the table: %w", s.explain(err))
	}
	missing, err := compare(name, have, schema)
	if err == nil && len(missing) == 0 {
		k.schema, k.table = schema, have // as ensure would find it
	}
	return err
}
