// Package sinks is the seam to where tables become visible. Without it, every kind of job would know every store, and
// the promise that a partition is replaced whole or not at all would be kept in as many ways as there are stores.
package sinks

import (
	"context"
	"io"

	"cloud.google.com/go/civil"
)

// Whole names the partition of a table that has no periods: all of its rows.
var Whole = civil.Date{Year: 1, Month: 1, Day: 1}

// A Sink makes p the whole content of its partition: readers see all the old rows or all the new ones.
// Repeating Put is harmless. When Put returns an error, the old rows are still there.
type Sink interface {
	Put(ctx context.Context, p Part) (Receipt, error)
	Close() error
}

// A Reader gives back what Put made visible, byte for byte. A sink has it when a reader can be sure to get a part whole.
type Reader interface {
	// Read opens the file of a partition. When the sink holds none, the error is fs.ErrNotExist.
	Read(ctx context.Context, table string, partition civil.Date) (io.ReadCloser, error)

	// Keys are those of everything that a reader of the table finds, whoever put it there, ascending.
	Keys(ctx context.Context, table string) ([]string, error)
}

// A Settler is told when a part that it was given is recorded in the ledger: only then may what was kept for a repeated
// Put be thrown away. A sink that keeps nothing doesn't have it.
type Settler interface {
	Settle(ctx context.Context, p Part) error
}

// A Part is one finished Parquet file: the whole content of one partition.
type Part struct {
	Table     string
	Partition civil.Date // first day of the period, or Whole
	Rows      int64
	Size      int64  // bytes of the file
	Hash      string // content hash: the same rows give the same hash, whatever their order
	Run       string // the ID of the run that publishes it

	// Schema is the table's; nil where only files are kept.
	Schema *Schema

	// Open opens the file for one reading from its start. A sink closes what it opened.
	Open func() (io.ReadCloser, error)
}

// A Receipt says where a part went, for the ledger and for people.
type Receipt struct {
	Sink string `json:"sink"` // the sink's URL without its query, which may hold secrets
	Key  string `json:"key"`  // object key or table partition
	Size int64  `json:"size"` // bytes stored
}
