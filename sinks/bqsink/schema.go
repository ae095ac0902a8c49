package bqsink

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/bigquery"

	"github.com/reportferry/reportferry/sinks"
)

// mostClustered is how many columns a table may be clustered by
// (https://cloud.google.com/bigquery/docs/clustered-tables#limitations).
const mostClustered = 4

// maxDescription is the length of a column's description in characters
// (https://cloud.google.com/bigquery/quotas).
const maxDescription = 1024

// typeNames are the column types by the names of the SQL reference
// (https://cloud.google.com/bigquery/docs/reference/standard-sql/data-types).
var typeNames = map[sinks.ColumnType]string{
	sinks.String: "STRING", sinks.Date: "DATE", sinks.DateTime: "DATETIME", sinks.Int64: "INT64",
	sinks.Decimal: "NUMERIC", // which has nine decimals, three more than the file's
	sinks.Double:  "FLOAT64", sinks.Instant: "TIMESTAMP",
}

// TypeName returns what BigQuery calls a column's type, or "" if no column can have it.
func TypeName(t sinks.ColumnType) string { return typeNames[t] }

// longestName is the most characters of a column's name
// (https://cloud.google.com/bigquery/docs/schemas#column_names).
const longestName = 300

// reserved are the beginnings, in either case, that no column's name may have, by the same page.
var reserved = []string{
	"_table_", "_file_", "_partition", "_row_timestamp", "__root__", "_colidentifier", "_change_sequence_number",
	"_change_type", "_change_timestamp",
}

// Fits refuses a table that BigQuery would refuse later with a less helpful message.
func (*Sink) Fits(table string, schema *sinks.Schema) error {
	if table = sinks.Flat(table); !tableName().MatchString(table) {
		return fmt.Errorf("%q can't be the name of a table in BigQuery; want letters, digits and underscores", table)
	}
	if _, err := schema.Check(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, c := range schema.Columns {
		name := strings.ToLower(c.Name)
		switch {
		case typeNames[c.Type] == "":
			return fmt.Errorf("column %s: unknown type %q", c.Name, c.Type)
		case len(name) > longestName:
			return fmt.Errorf("column %s: BigQuery takes names of at most %d characters; give it another name, "+
				"which as: does for an event, or leave it out", c.Name, longestName)
		case slices.ContainsFunc(reserved, func(prefix string) bool { return strings.HasPrefix(name, prefix) }):
			return fmt.Errorf("column %s: BigQuery keeps names that begin so to itself; give it another name, which "+
				"as: does for an event, or leave it out", c.Name)
		}
		seen[name] = true
	}
	if len(schema.ClusterBy) > mostClustered {
		return fmt.Errorf("a table is clustered by at most %d columns, not by %s", mostClustered,
			strings.Join(schema.ClusterBy, ", "))
	}
	for _, name := range schema.ClusterBy {
		if !seen[strings.ToLower(name)] {
			return fmt.Errorf("the table should be clustered by %s, which isn't one of its columns", name)
		}
	}
	if schema.Period == "whole" && (schema.Expiration != 0 || schema.RequireFilter) {
		return errors.New("expiration and require_partition_filter are for partitions, and the table has none")
	}
	return nil
}

// newTable returns the definition that a table is created with.
func newTable(schema *sinks.Schema) (*bigquery.TableMetadata, error) {
	labels, err := tableLabels(schema.Labels)
	if err != nil {
		return nil, err
	}
	kind, err := partitioning(schema.Period)
	if err != nil {
		return nil, err
	}
	t := &bigquery.TableMetadata{Labels: labels}
	if schema.About != nil {
		t.Description = schema.About.Text
	}
	if len(schema.ClusterBy) > 0 {
		t.Clustering = &bigquery.Clustering{Fields: schema.ClusterBy}
	}
	if schema.KMSKey != "" {
		t.EncryptionConfig = &bigquery.EncryptionConfig{KMSKeyName: schema.KMSKey}
	}
	for _, c := range schema.Columns {
		t.Schema = append(t.Schema, field(c, c.Required))
	}
	if kind != "" {
		t.TimePartitioning = &bigquery.TimePartitioning{
			Type: bigquery.TimePartitioningType(kind), Field: schema.On, Expiration: schema.Expiration,
		}
		t.RequirePartitionFilter = schema.RequireFilter
	}
	return t, nil
}

// field returns BigQuery's definition of a column.
func field(c sinks.Column, required bool) *bigquery.FieldSchema {
	f := &bigquery.FieldSchema{Name: c.Name, Type: bigquery.FieldType(typeNames[c.Type]), Required: required,
		Description: c.Text()}
	if r := []rune(f.Description); len(r) > maxDescription {
		f.Description = string(r[:maxDescription])
	}
	return f
}
