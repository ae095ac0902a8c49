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

// A ColumnType is the type of a column, in no store's own words: each sink translates it.
type ColumnType string

// The column types. A part's file holds no others.
const (
	String   ColumnType = "string"
	Date     ColumnType = "date"
	DateTime ColumnType = "local time" // a date and a time of day without a zone
	Int64    ColumnType = "int64"
	Decimal  ColumnType = "decimal" // 18 digits, 6 of them after the point
	Double   ColumnType = "double"
)
