// Package sinks is the seam to where tables become visible. Without it, every kind of job would know every store, and
// the promise that a partition is replaced whole or not at all would be kept in as many ways as there are stores.
package sinks

import (
	"context"
	"errors"
	"io"

	"cloud.google.com/go/civil"
)

// Whole names the partition of a table that has no periods: all of its rows.
var Whole = civil.Date{Year: 1, Month: 1, Day: 1}

// A Sink makes p the whole content of its partition: readers see all the old rows or all the new ones.
// Repeating Put is harmless. When Put returns an error, the old rows are still there.
type Sink interface {
	Put(ctx context.Context, p Part) (Receipt, error)

	// Store is the canonical identity of the place: scheme, account or endpoint, bucket, prefix and layout, without
	// secrets. Two sinks of one identity would replace each other's parts.
	Store() string

	Close() error
}

// An Object is what a store says of one object without opening it.
type Object struct {
	Key       string
	Partition civil.Date // whose part lies under that key; zero: none does
	Size      int64      // bytes
	Version   string     // as in a Receipt
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

	// Over says what the part may replace.
	Over Condition

	// Warn hears of what a person should know although the put succeeded; nil: nobody.
	Warn func(error)

	// Open opens the file for one reading from its start. A sink closes what it opened.
	Open func() (io.ReadCloser, error)
}

// A Condition says what a Put may replace. A sink whose store has preconditions hands it on to the store, which holds it
// at the moment the write is applied: a put that starts late, is sent again by a client, or is applied late then fails
// instead of hiding newer rows. The zero Condition allows whatever is there when the put begins, and nothing that comes
// after it. A warehouse that replaces a partition by a job of its own has other means and ignores it.
type Condition struct {
	Version string // only the object of this version, which a receipt names
	Absent  bool   // nothing may be there
}

// Errors of a put whose condition wasn't met. Nothing was replaced.
var (
	// ErrConflict: another writer of this program put something there meanwhile.
	ErrConflict = errors.New("another run has put something there meanwhile")
	// ErrForeign: somebody else put something there.
	ErrForeign = errors.New("an object stands there that reportferry didn't write")
)

// A Receipt says where a part went, for the ledger and for people.
type Receipt struct {
	Sink string `json:"sink"` // the sink's URL without its query, which may hold secrets
	Key  string `json:"key"`  // object key or table partition
	Size int64  `json:"size"` // bytes stored

	// Store is the canonical identity of the store, of which the URL without its query is only a part: scheme, account or
	// endpoint, bucket, prefix and layout. Receipts of earlier versions have none.
	Store string `json:"store,omitempty"`

	// Version is the store's own name for this state of the object: its generation, or its ETag without the quotes. Empty
	// where there is none, and in receipts of earlier versions.
	Version string `json:"version,omitempty"`
}
