// Package table turns a CSV answer of the service into one typed Parquet file per partition, in constant memory. Without
// it, values would be guessed from text, and a day would be only as large as the machine that loads it.
package table

import (
	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/parquet"
)

// Column is one column of the table, with the place its values come from.
type Column struct {
	Name   string       // the column of the Parquet file
	Source string       // the header of the CSV column; "" when it isn't asked for: every cell is NULL
	Type   catalog.Type // fixed before the first byte, never sniffed
	// Dimension columns are REQUIRED in Parquet, and a blank String cell stays ''. The others are metrics: OPTIONAL, and a
	// blank cell is NULL and counted.
	Dimension bool
	// Additive columns are summed: int64 exactly, decimal exactly with six decimals, double as a float.
	Additive bool
}

// NoRoute as Options.Route takes every row into the one partition that is expected: a table without periods.
const NoRoute = -1

// Options describe a table and the partitions that answers for it may hold.
type Options struct {
	Columns    []Column
	Route      int               // index of the column, a date or an hour, that names a row's partition: for an hour its day; or NoRoute
	Partitions []civil.Date      // first days of the expected partitions, any order, unique; a row of another one is an error
	Dir        string            // directory for the part files; "" is the system's temporary directory
	Codec      string            // "zstd" (also when empty), "snappy" or "none"
	Budget     *Budget           // memory shared by all converters of the process; nil for one of its own, of DefaultBudget bytes
	Metadata   map[string]string // key-value metadata of every file; "partition" and "rows" are added
}

// Part is one finished Parquet file: the whole content of one partition. The file belongs to the caller.
type Part struct {
	Partition civil.Date
	Path      string
	Rows      int64
	Size      int64             // bytes
	Hash      string            // content hash: independent of row order, file bytes, row groups and codec
	Sums      map[string]string // of additive columns, by Name
	Nulls     map[string]int64  // NULL cells, by Name, where there are any
	Rounded   map[string]int64  // decimal cells that had more than six decimals, by Name, where there are any
}

// fileColumns are the columns of a part's file.
func fileColumns(columns []Column) []parquet.Column {
	all := make([]parquet.Column, len(columns))
	for i, c := range columns {
		all[i] = parquet.Column{Name: c.Name, Required: c.Dimension}
		switch {
		case c.Type == catalog.String:
			all[i].Type = parquet.Text
		case c.Type == catalog.Hour:
			all[i].Type = parquet.Timestamp
		case c.Type == catalog.Int64:
			all[i].Type = parquet.Int64
		case c.Type == catalog.Decimal:
			all[i].Type = parquet.Decimal
		case c.Type == catalog.Double:
			all[i].Type = parquet.Double
		default:
			all[i].Type = parquet.Date
		}
	}
	return all
}
