package bqsink

import (
	"fmt"

	"github.com/reportferry/reportferry/sinks"
)

// Told is the view of what all tables of a kind tell: each job's table has one that begins with the kind's name and an
// underscore, which the wildcard stands for (https://cloud.google.com/bigquery/docs/querying-wildcard-tables).
func (s *Sink) Told(kind string) (name, query string) {
	name = s.project + "." + s.dataset + "." + kind
	return name, "SELECT * FROM " + quote(name+"_*")
}

// Final is the view of a table's rows that don't change any more: those of partitions that the table of partitions calls final.
func (s *Sink) Final(table string, schema *sinks.Schema, partitions string) (name, query string) {
	prefix := s.project + "." + s.dataset + "."
	told := quote(prefix + sinks.Flat(sinks.Derived(partitions, table)))
	where := "EXISTS (SELECT 1 FROM " + told + " WHERE state = 'final')" // the table has no periods
	if schema.On != "" {
		where = fmt.Sprintf("DATE(%s) IN (SELECT partition_date FROM %s WHERE state = 'final')", quote(schema.On), told)
	}
	return prefix + table + "_final", "SELECT * FROM " + quote(prefix+table) + "\nWHERE " + where
}
