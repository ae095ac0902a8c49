// Package table turns the rows of a table, a CSV answer of the service or typed rows, into one
// Parquet file per partition, in constant memory. Without it, types would be guessed from values,
// and a day's rows would have to fit the machine's memory.
//
//	CSV ──> scanner ──> block: cells of whole rows ─┐
//	        cut into rows                           ├─> by partition ──> by column: parse, hash, sum ──> parquet.Group
//	typed rows ─────────────────────────────────────┘                                                       │
//	                                                          Part <── Finish <── parquet.File <── heavy: flush
//
// Types are known before the first byte (Column.Type), and a cell that doesn't fit its column's
// type stops the answer with a CellError that names row, column and value. Rows may come in any
// order; each goes to the partition that the route column names. The file is written row group by
// row group, so that memory stays within a Budget that all converters of the process share.
//
// # Equal bytes
//
// Parts are a function of the rows, in the order in which they come, and of the options: neither
// goroutines, nor cores, nor reads of the network, nor other converters change a byte. The order
// matters: the same rows in another order are another file with the same content hash. Where days
// come one after the other, as the service sends them when it is asked to, a day's file is also the
// same whatever other days the answer has, up to ten of them; with more, pages are shorter. What
// callers say of a fetch, in Options.Metadata and by stamps, is in the file too.
//
// So a row group ends when its rows weigh as much as half of the budget, which is measured in rows,
// texts and bytes of pages, and not in memory. When converters together hold more than the budget,
// pages wait on the disk, beside the parts, which costs writing and reading them once more; with
// one or two converters they never do. The newest rows and the dictionaries can't wait there: they
// are on top of the budget when many converters have many large partitions at once.
//
// A Part carries what its publisher needs without reading the file again: rows, sums of additive
// columns, NULLs, and a content hash that is the same whenever the rows are, in whatever order and
// encoding. Measure computes that hash from a file.
//
// Files: csv.go, scan.go, cut.go and specials.go cut CSV into cells; rows.go takes typed rows;
// take.go routes them into a batch (batch.go), which convert.go converts; number.go, plain.go and
// times.go parse cells; memory.go decides what is written when.
package table

import (
	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/parquet"
)

// A Column maps a column of the input to a column of the Parquet file.
type Column struct {
	Name   string       // in the file
	Source string       // in the CSV header; "" for a column that no answer has, whose cells are all NULL
	Type   catalog.Type // of every cell
	// A dimension is REQUIRED in Parquet: a blank text stays '', and any other blank cell is an
	// error. Without this flag the column is a metric, OPTIONAL in Parquet: a blank cell is NULL,
	// and counted.
	Dimension bool
	// The sum of an additive column is part of the Part: exact for int64 and decimal, a float for
	// double.
	Additive bool
	// In a column of whole numbers, a fraction is rounded, and counted as rounded. Without this
	// flag it is an error.
	Rounds bool
	// A column with a stamp has no source, and describes the fetch.
	Stamp Stamp
}

// NoRoute is the Options.Route of a table without periods: every row goes to its only partition.
const NoRoute = -1

// Options describe a table and the partitions that its rows may belong to.
type Options struct {
	Columns []Column
	Ignored []string // sources that an answer has and no column wants
	Strict  bool     // any other unknown source is a HeaderError; if false, it is left out and counted
	Route   int      // index of the column whose date, or hour's date, is a row's partition; or NoRoute
	// First day of each expected partition, in any order, once each; a row of another one is an
	// error.
	Partitions []civil.Date
	Dir        string // folder of the parts' files; "" for the system's temporary one
	// A part of at most so many bytes is held in memory, and only larger ones are files; 0: all are
	// files.
	Hold  int
	Codec string // "zstd" (also when empty), "snappy" or "none"
	Pages string // the version of data pages: "v2" (also when empty) or "v1"
	// Shared by converters that work at once; nil for a budget of its own, of DefaultBudget bytes.
	Budget  *Budget
	Run     string // the ID of the run, for the column with the stamp LoadedBy
	Mending Mending
	// key-value metadata of every file, behind "reportferry."; "partition" and "rows" are added.
	Metadata map[string]string
}

// Mending says which texts are altered, and counted, that would be errors otherwise.
type Mending struct {
	UTF8    bool // U+FFFD takes the place of bytes that aren't valid UTF-8
	DropNUL bool // the character U+0000 is left out, which some sinks can't hold
}

// A Part is one finished Parquet file with the whole content of one partition. The file belongs to
// the caller, who removes it, and opens it by Open.
type Part struct {
	Partition civil.Date
	Path      string // of the file; empty when it is held in memory
	held      []byte // the file; nil when it is at Path
	Rows      int64
	// Rows whose dimensions are those of another row before them; 0 where dimensions don't come
	// first.
	Repeated int64
	Size     int64 // bytes
	// Content hash, 48 hexadecimal digits: the same for the same rows, in any order, row groups or
	// codec.
	Hash  string
	Sums  map[string]string // of additive columns, by Name: whole numbers, decimals with six decimals, floats
	Cells map[string]int64  // of additive columns of money or doubles, by Name: cells that aren't zero
	// Of additive columns, by Name: the most decimals that a cell of an answer was written with.
	Decimals map[string]int
	Nulls    map[string]int64 // NULL cells, by Name, where there are any
	Rounded  map[string]int64 // decimal cells that had more than six decimals, by Name, where there are any
	Altered  []Alteration     // cells that were taken in another form, in the order of the columns
}

// fileColumns are the columns of a part's file.
func fileColumns(columns []Column) []parquet.Column {
	all := make([]parquet.Column, len(columns))
	for i, c := range columns {
		all[i] = parquet.Column{Name: c.Name, Required: c.Dimension}
		switch c.Type {
		case catalog.String:
			all[i].Type = parquet.Text
		case catalog.Hour:
			all[i].Type = parquet.Timestamp
		case catalog.Instant:
			all[i].Type = parquet.Instant
		case catalog.Int64:
			all[i].Type = parquet.Int64
		case catalog.Decimal:
			all[i].Type = parquet.Decimal
		case catalog.Double:
			all[i].Type = parquet.Double
		default:
			all[i].Type = parquet.Date
		}
	}
	return all
}
