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

// maxDescription is the length of a column's description in characters (https://cloud.google.com/bigquery/quotas).
const maxDescription = 1024

// typeNames are the column types by the names of the SQL reference
// (https://cloud.google.com/bigquery/docs/reference/standard-sql/data-types).
var typeNames = map[sinks.ColumnType]string{
	sinks.String: "STRING", sinks.Date: "DATE", sinks.DateTime: "DATETIME", sinks.Int64: "INT64",
	sinks.Decimal: "NUMERIC", // which has nine decimals, three more than the file's
	sinks.Double:  "FLOAT64", sinks.Instant: "TIMESTAMP",
}

// checkSchema refuses what BigQuery would refuse later with a less helpful message.
func checkSchema(schema *sinks.Schema) error {
	seen := map[string]bool{}
	for _, c := range schema.Columns {
		if typeNames[c.Type] == "" {
			return fmt.Errorf("column %s: unknown type %q", c.Name, c.Type)
		}
		name := strings.ToLower(c.Name) // BigQuery takes names that differ in case for the same
		if seen[name] {
			return fmt.Errorf("column %s: two columns have that name, and to BigQuery A and a are the same", c.Name)
		}
		seen[name] = true
	}
	if len(schema.Columns) == 0 {
		return errors.New("the table's schema has no columns")
	}
	if len(schema.ClusterBy) > mostClustered {
		return fmt.Errorf("a table is clustered by at most %d columns, not by %s", mostClustered, strings.Join(schema.ClusterBy, ", "))
	}
	for _, name := range schema.ClusterBy {
		if !seen[strings.ToLower(name)] {
			return fmt.Errorf("the table should be clustered by %s, which isn't one of its columns", name)
		}
	}
	if schema.Period == "whole" {
		if schema.Expiration != 0 || schema.RequireFilter {
			return errors.New("expiration and require_partition_filter are for partitions, and the table has none")
		}
		return nil
	}
	i := slices.IndexFunc(schema.Columns, func(c sinks.Column) bool { return c.Name == schema.On })
	if i < 0 || (schema.Columns[i].Type != sinks.Date && schema.Columns[i].Type != sinks.DateTime) {
		return fmt.Errorf("the table should be partitioned by %q, which isn't a DATE or DATETIME column of it", schema.On)
	}
	return nil
}

// newTable is the definition that a table is created with.
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

func field(c sinks.Column, required bool) *bigquery.FieldSchema {
	f := &bigquery.FieldSchema{Name: c.Name, Type: bigquery.FieldType(typeNames[c.Type]), Required: required, Description: c.Text()}
	if r := []rune(f.Description); len(r) > maxDescription {
		f.Description = string(r[:maxDescription])
	}
	return f
}
