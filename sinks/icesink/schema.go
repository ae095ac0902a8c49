package icesink

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/reportferry/reportferry/sinks"
)

// types are Iceberg's types for the column types
// (https://iceberg.apache.org/spec/#primitive-types). A part's file stores each type as the
// specification wants it in Parquet.
var types = map[sinks.ColumnType]iceberg.Type{
	sinks.String: iceberg.PrimitiveTypes.String, sinks.Date: iceberg.PrimitiveTypes.Date,
	sinks.DateTime: iceberg.PrimitiveTypes.Timestamp,
	sinks.Instant:  iceberg.PrimitiveTypes.TimestampTz, sinks.Int64: iceberg.PrimitiveTypes.Int64,
	sinks.Decimal: iceberg.DecimalTypeOf(18, 6),
	sinks.Double:  iceberg.PrimitiveTypes.Float64,
}

// The keys of this program's properties of tables and snapshots.
const (
	propertyTable       = "reportferry.table"       // of a table that this program created: the job's name for it
	propertyFingerprint = "reportferry.fingerprint" // of a table: the fingerprint of the part that was put last
	propertyRun         = "reportferry.run"         // of a snapshot: the ID of the run
	// The prefix of a snapshot's key about a partition. The value has the version, size and content
	// hash of the partition's part.
	propertyPut = "reportferry.put."
)

// mostSorted is how many dimensions follow the date in the table's sort order.
const mostSorted = 4

// metadataColumns are the names of columns that readers add to a table's own
// (https://iceberg.apache.org/spec/#reserved-field-ids).
var metadataColumns = []string{"_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id",
	"_last_updated_sequence_number", "_change_type", "_change_ordinal", "_commit_snapshot_id"}

// Fits refuses a table that the catalog, or a reader, would refuse later with a less helpful
// message.
func (*Sink) Fits(_ string, s *sinks.Schema) error {
	if _, err := s.Check(); err != nil {
		return err
	}
	for _, c := range s.Columns {
		switch {
		case types[c.Type] == nil:
			return fmt.Errorf("column %s: unknown type %q", c.Name, c.Type)
		case slices.Contains(metadataColumns, strings.ToLower(c.Name)):
			return fmt.Errorf("column %s: Iceberg keeps that name to itself; give it another name, which as: does "+
				"for an event, or leave it out", c.Name)
		}
	}
	return nil
}

// fields returns the table's columns. The catalog may give them other IDs.
func fields(s *sinks.Schema) *iceberg.Schema {
	var list []iceberg.NestedField
	for i, c := range s.Columns {
		list = append(list, iceberg.NestedField{ID: i + 1, Name: c.Name, Type: types[c.Type], Required: c.Required,
			Doc: c.Text()})
	}
	return iceberg.NewSchema(0, list...)
}

// partitioning returns how the table is partitioned: by the value of a date column, which is a
// partition's first day, or by the day of a timestamp.
func partitioning(s *sinks.Schema, of *iceberg.Schema) (iceberg.PartitionSpec, error) {
	if s.Period == "whole" {
		return *iceberg.UnpartitionedSpec, nil
	}
	field, _ := of.FindFieldByName(s.On)
	name, by := s.On, iceberg.Transform(iceberg.IdentityTransform{})
	if _, isDate := field.Type.(iceberg.DateType); !isDate {
		name, by = s.On+"_day", iceberg.DayTransform{}
	}
	return iceberg.NewPartitionSpecOpts(iceberg.AddPartitionFieldByName(s.On, name, by, of, nil))
}

// sortOrder returns the sort order for programs that rewrite the table's files: by date, and then
// by the columns that the config names, or else by the first dimensions.
func sortOrder(s *sinks.Schema, schema *iceberg.Schema) (table.SortOrder, error) {
	by := s.ClusterBy
	if len(by) == 0 {
		for _, c := range s.Columns {
			if c.Required && c.Name != s.On && len(by) < mostSorted {
				by = append(by, c.Name)
			}
		}
	}
	if s.On != "" {
		by = append([]string{s.On}, by...)
	}
	var list []table.SortField
	for _, name := range by {
		f, known := schema.FindFieldByName(name)
		if !known {
			return table.UnsortedSortOrder,
				fmt.Errorf("the table should be sorted by %s, which isn't one schema its columns", name)
		}
		list = append(list, table.SortField{SourceIDs: []int{f.ID}, Transform: iceberg.IdentityTransform{},
			Direction: table.SortASC, NullOrder: table.NullsFirst})
	}
	if len(list) == 0 {
		return table.UnsortedSortOrder, nil
	}
	return table.NewSortOrder(table.InitialSortOrderID, list)
}

// creationProperties returns the properties of a new table. They limit the metadata files of
// earlier states to a hundred, because nobody needs one once the next exists. The states themselves
// are snapshots, and stay.
func creationProperties(s *sinks.Schema, name, fingerprint string) iceberg.Properties {
	p := iceberg.Properties{
		"format-version": "2", "write.parquet.compression-codec": "zstd",
		"commit.manifest.min-count-to-merge":         strconv.Itoa(mostManifests),
		"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "100",
		propertyTable: name,
	}
	if fingerprint != "" {
		p[propertyFingerprint] = fingerprint
	}
	if s.About != nil && s.About.Text != "" {
		p["comment"] = s.About.Text
	}
	return p
}
