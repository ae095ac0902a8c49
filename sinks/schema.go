package sinks

import "time"

// A Schema is a table's definition, for sinks that keep tables and not files.
type Schema struct {
	Columns []Column // in the order of the part's file
	Period  string   // of a partition: day, week, month, quarter, year, or whole when the table has none
	On      string   // the column, a date or an hour, whose value names a row's partition; empty when Period is whole

	// What only some warehouses have, from the job's config.
	ClusterBy     []string // columns by which rows are sorted in storage, at most four
	RequireFilter bool     // a query must say which partitions it reads
	Expiration    time.Duration
	KMSKey        string
	Labels        map[string]string
}

// A Column is one column of a table.
type Column struct {
	Name        string
	Type        ColumnType
	Required    bool // a dimension: never NULL
	Description string
}

// A ColumnType is the type of a column in a warehouse.
type ColumnType string

// The types, by the names that BigQuery gives them.
const (
	String   ColumnType = "STRING"
	Date     ColumnType = "DATE"
	DateTime ColumnType = "DATETIME" // without a zone
	Int64    ColumnType = "INT64"
	Numeric  ColumnType = "NUMERIC" // DECIMAL(18,6) in the file
	Float64  ColumnType = "FLOAT64"
)
