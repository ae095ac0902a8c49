package bqtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	bq "google.golang.org/api/bigquery/v2"
)

// partitionsView is `project.dataset.INFORMATION_SCHEMA.PARTITIONS`: a row for every partition that has rows, and one for
// every table without partitions. https://cloud.google.com/bigquery/docs/information-schema-partitions
const partitionsView = ".INFORMATION_SCHEMA.PARTITIONS"

var partitionsFields = []*bq.TableFieldSchema{
	{Name: "table_catalog", Type: typeString}, {Name: "table_schema", Type: typeString}, {Name: "table_name", Type: typeString},
	{Name: "partition_id", Type: typeString}, {Name: "total_rows", Type: typeInteger}, {Name: "total_logical_bytes", Type: typeInteger},
	{Name: "last_modified_time", Type: typeTimestamp},
}

// metadata compiles the views that BigQuery has of its own; ok is false when the path is none of them.
func (c *compiler) metadata(path string, pos int) (q compiled, ok bool) {
	if !strings.Contains(strings.ToUpper(path), ".INFORMATION_SCHEMA.") {
		return compiled{}, false
	}
	dataset, view := path[:max(len(path)-len(partitionsView), 0)], path[max(len(path)-len(partitionsView), 0):]
	project, id, _ := strings.Cut(dataset, ".")
	if !strings.EqualFold(view, partitionsView) || project == "" || id == "" || strings.Contains(id, ".") {
		c.missing(pos, "%s", path)
	}
	if _, r := c.s.place(project, id, c.location); r != nil {
		panic(r)
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(c.s.tables)) {
		t := c.s.tables[key]
		if !strings.HasPrefix(key, dataset+".") || t.isView() {
			continue
		}
		part, group := "NULL", ""
		if t.partitioned() != nil {
			part, group = partColumn, " GROUP BY "+partColumn
		}
		parts = append(parts, fmt.Sprintf(`SELECT %s AS table_catalog, %s AS table_schema, %s AS table_name, %s AS partition_id,
			COUNT(*) AS total_rows, COALESCE(SUM(%s), 0) AS total_logical_bytes,
			COALESCE((SELECT MAX(at) FROM modified WHERE modified.name = %s AND (%s IS NULL OR part = %s)), %d) AS last_modified_time FROM %s%s`,
			textLiteral(project), textLiteral(id), textLiteral(t.Doc.TableReference.TableId), part, bytesColumn,
			textLiteral(t.Rows), part, part, t.Doc.CreationTime*1000, t.Rows, group))
	}
	if len(parts) == 0 {
		parts = []string{"SELECT NULL AS table_catalog, NULL AS table_schema, NULL AS table_name, NULL AS partition_id, NULL AS total_rows, NULL AS total_logical_bytes, NULL AS last_modified_time WHERE 0"}
	}
	return compiled{strings.Join(parts, " UNION ALL "), partitionsFields}, true
}

// touched notes when partitions of a table were last modified.
func (s *Server) touched(t *table, at time.Time, parts ...string) error {
	for _, part := range parts {
		if _, err := s.store.exec("INSERT OR REPLACE INTO modified VALUES (?, ?, ?)", t.Rows, part, at.UnixMicro()); err != nil {
			return err
		}
	}
	return nil
}
