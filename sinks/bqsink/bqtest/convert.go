package bqtest

import (
	"strings"

	bq "google.golang.org/api/bigquery/v2"
)

// mostErrors bounds how many errors a job reports.
const mostErrors = 10

// tableFields returns the table's fields as they are after the load.
func (l *loadRun) tableFields() []*bq.TableFieldSchema {
	if l.isNew || l.replacesTable() {
		return l.schema.Fields
	}
	return append(append([]*bq.TableFieldSchema{}, l.table.Doc.Schema.Fields...), l.schemas.added...)
}

// convert makes rows of the table out of the files' columns, which are matched by name and not by
// order.
func (l *loadRun) convert() []*refusal {
	fields := l.tableFields()
	p := l.table.partitioned()
	for _, src := range l.sources {
		columns, bad := l.matchColumns(src, fields)
		if len(bad) > 0 {
			return bad
		}
		// Make each row, and note what is wrong with it.
		for i := range src.rows {
			r := row{cells: make([]any, len(fields))}
			part := any(nil)
			for j, f := range fields {
				var v any
				if columns[j] != nil {
					v = columns[j].values[i]
				}
				if v == nil && l.required(f) {
					bad = append(bad, refuse("invalid",
						"Error while reading data, error message: Required column value for column '%s' is missing "+
							"in row %d.%s", f.Name, i+1, src.location()))
				}
				r.cells[j] = v
				r.bytes += logicalBytes(f.Type, v)
				if p != nil && strings.EqualFold(f.Name, p.Field) {
					part = v
				}
			}
			var outside *refusal
			if r.partition, outside = l.partitionFor(p, part); outside != nil {
				bad = append(bad, outside)
			}
			if len(bad) >= mostErrors {
				return bad
			}
			l.rowBytes += r.bytes
			l.rows = append(l.rows, r)
		}
		if len(bad) > 0 {
			return bad
		}
	}
	return nil
}

// required tells whether a column is still REQUIRED once the load has relaxed the schema.
func (l *loadRun) required(f *bq.TableFieldSchema) bool {
	relaxed := fieldOf(l.schema, f.Name)
	return f.Mode == "REQUIRED" && (relaxed == nil || relaxed.Mode == "REQUIRED")
}

// partitionFor returns the partition of a row, given its value in the partitioning column. If the
// load names a partition by a decorator, a row of another one is an error.
func (l *loadRun) partitionFor(p *bq.TimePartitioning, value any) (string, *refusal) {
	switch {
	case p == nil:
		return wholePartition, nil
	case p.Field == "" && l.decorated:
		return l.decorator, nil
	case p.Field == "":
		value = l.job.Created * 1000
	}
	id, err := partitionOf(p, value)
	if err != nil {
		return "", refuse("invalid", "%v", err)
	}
	if l.decorated && id != l.decorator {
		return "", refuse("invalid", "Some rows belong to different partitions rather than destination partition %s$%s",
			legacyName(l.dst), l.decorator)
	}
	return id, nil
}

// matchColumns finds the column of each field. A column that the file lacks is NULL. A column that
// the table lacks is refused, unless ignoreUnknownValues is set.
func (l *loadRun) matchColumns(src *source, fields []*bq.TableFieldSchema) ([]*sourceColumn, []*refusal) {
	columns := make([]*sourceColumn, len(fields))
	var bad []*refusal
	known := map[string]bool{}
	for i, f := range fields {
		for j := range src.columns {
			c := &src.columns[j]
			if !strings.EqualFold(c.name, f.Name) {
				continue
			}
			known[c.name] = true
			columns[i] = c
			if c.kind != f.Type {
				bad = append(bad, refuse("invalid",
					"Error while reading data, error message: Parquet column '%s' has type %s which does not match "+
						"the target type %s.%s", f.Name, c.kind, f.Type, src.location()))
			}
		}
	}
	for _, c := range src.columns {
		if !known[c.name] && !l.load.IgnoreUnknownValues {
			bad = append(bad, refuse("invalid", "Error while reading data, error message: Parquet column '%s' is "+
				"not in the schema.%s", c.name, src.location()))
		}
	}
	return columns, bad
}

// logicalBytes returns the size of a value. https://cloud.google.com/bigquery/pricing#data
func logicalBytes(kind string, value any) int64 {
	switch {
	case value == nil:
		return 0
	case kind == typeString:
		return 2 + int64(len(value.(string)))
	case kind == typeNumeric:
		return 16
	case kind == typeBool:
		return 1
	}
	return 8
}
