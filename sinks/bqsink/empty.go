package bqsink

import (
	"fmt"

	"github.com/reportferry/reportferry/sinks"
)

// deletion is the work of a part without rows: a DELETE that covers exactly the partition. It scans nothing, because it
// takes a partition whole (https://cloud.google.com/bigquery/docs/using-dml-with-partitioned-tables). A load of a file
// without rows would do too, but not every such file has a row group, and a load of nothing is easily taken for one
// that did nothing.
func (s *Sink) deletion(at place, schema *sinks.Schema) string {
	table := fmt.Sprintf("`%s.%s.%s`", s.project, s.dataset, at.table)
	if at.kind == "" {
		return "DELETE FROM " + table + " WHERE TRUE"
	}
	literal := "DATE '%s'"
	for _, c := range schema.Columns {
		if c.Name == schema.On && c.Type == sinks.DateTime {
			literal = "DATETIME '%s 00:00:00'"
		}
	}
	return fmt.Sprintf("DELETE FROM %s WHERE `%s` >= "+literal+" AND `%s` < "+literal, table, schema.On, at.first, schema.On, at.end())
}
