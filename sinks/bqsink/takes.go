package bqsink

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	"github.com/reportferry/reportferry/sinks"
)

// Takes checks whether a table, as it is or once it has the columns that it lacks, takes parts of a
// schema. It changes nothing. A table that doesn't exist yet takes them if it can be created.
func (s *Sink) Takes(ctx context.Context, table string, schema *sinks.Schema) error {
	name := sinks.Flat(table)
	k := s.tables.named(name)
	if err := k.lock(ctx); err != nil {
		return err
	}
	defer k.unlock()
	if k.table != nil && reflect.DeepEqual(k.schema, schema) {
		return nil
	}
	if err := s.Fits(name, schema); err != nil {
		return err
	}
	have := k.listed
	if have == nil && !k.absent {
		if _, err := s.locateDataset(ctx); err != nil {
			return err
		}
		var err error
		have, err = s.getTable(ctx, name)
		if k.absent = hasStatus(err, http.StatusNotFound); err != nil && !k.absent {
			return fmt.Errorf("look up the table: %w", s.explain(err))
		}
		k.listed = have // which the put begins with
	}
	if k.absent {
		_, err := newTable(schema)
		return err
	}
	_, err := compare(name, have, schema)
	return err
}
