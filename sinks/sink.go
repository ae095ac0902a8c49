// Package sinks is the interface between jobs and the stores in which tables become visible.
// Without it, every kind of job would have to know every store, and the promise that a partition is
// replaced whole or not at all would be kept in as many ways as there are stores.
//
// A job hands a Part to a Sink, and keeps the Receipt in the ledger:
//
//	Part (one Parquet file, and a Condition)
//	 └─ Sink.Put ─┬─ Receipt: key, size and version of what is visible now
//	              └─ error: the old rows are still there, or the partition is in doubt
//
// blobsink keeps files in buckets, bqsink tables in BigQuery, pgsink tables in Postgres, and
// icesink tables in Iceberg catalogs. cmd/reportferry lists them by the schemes of their URLs. An
// ability of some sinks only is a small interface next to Sink: Lister, which lists what the
// store holds, and others that include it. An ability of one sink only, such as making a view, is a
// method of that sink.
package sinks

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
)

// Whole is the partition of a table without periods: all of its rows.
var Whole = civil.Date{Year: 1, Month: 1, Day: 1}

// Derived returns the name of a table of the given kind that describes another table. In a bucket
// the tables of one kind lie side by side, like partitions of one table, so that readers see them
// as one table.
func Derived(kind, of string) string { return kind + derived + of }

// Flat returns the table's name for stores whose names can't contain folders.
func Flat(table string) string { return strings.Replace(table, derived, "_", 1) }

// derived stands between the kind and the other table in the name of a derived table.
const derived = "/table="

// A Sink stores partitions. Put makes p the whole content of its partition: readers see all the old
// rows or all the new ones. Repeating Put is harmless. When Put returns an error, the old rows are
// still there, or the store has accepted the new ones but couldn't confirm it. The caller then
// treats the partition as in doubt, and puts it again.
type Sink interface {
	Put(ctx context.Context, p Part) (Receipt, error)

	// Store returns the canonical identity of the place: scheme, account or endpoint, bucket,
	// prefix and layout, without secrets. Two sinks with the same identity would replace each
	// other's parts.
	Store() string

	Close() error
}

// An Object is what a store's listing says about one object.
type Object struct {
	Key       string
	Partition civil.Date // of the part with this key; zero when it isn't a part's key
	Size      int64      // bytes
	Version   string     // as in a Receipt; empty where the store has none, or can no longer name it

	Counted bool  // Rows is known, and Size can't be compared with a receipt's
	Rows    int64 // rows of the part; for a table, of all its partitions

	// Table says that the object is a whole table, whose store says nothing about single
	// partitions. Receipts for them have the table's version, which changes when the table is made
	// anew. Oldest is the oldest partition that hasn't expired in the table, and the next to be
	// deleted. It is zero when nothing expires.
	Table  bool
	Oldest civil.Date
}

// A Part is one finished Parquet file: the whole content of one partition.
type Part struct {
	Table     string
	Partition civil.Date // first day of the period, or Whole
	Rows      int64
	Size      int64  // bytes of the file
	Hash      string // content hash: the same rows give the same hash, whatever their order
	Run       string // the ID of the run that publishes it

	// Schema is the table's definition; nil for a kind of job whose tables are files only.
	Schema *Schema

	// Over says what the part may replace.
	Over Condition

	// A store without conditions orders puts by the IDs of leases instead. The part is put under
	// Lease. Earlier has the leases before it: once the put has begun, nothing that was put under
	// them may become visible any more. Lease is empty when no other run can take the partition
	// over.
	Lease   string
	Earlier []string

	// Warn is called with what a person should know although the put succeeded. If it is nil, sinks
	// give no warnings.
	Warn func(error)

	// Open opens the file for reading from its start. A sink closes what it opened. For sinks that
	// look at the rows, the returned reader is an io.ReaderAt as well.
	Open func() (io.ReadCloser, error)
}

// FingerprintKey is the key, in the metadata of a part's file, of a checksum of what the part's
// numbers mean.
const FingerprintKey = "reportferry.fingerprint"

// A Condition says what a Put may replace. A sink whose store has preconditions sends it to the
// store, which checks it at the moment when it applies the write: a put that starts late, is
// repeated by a client or is applied late fails instead of replacing newer rows. A version is taken
// from a receipt. The zero Condition allows whatever is there when the put begins, and nothing that
// comes after it. BigQuery has none; see Part.Lease.
type Condition = bucket.Condition

// These are the errors of a put whose condition wasn't met. Nothing was replaced.
var (
	// ErrConflict: another writer of this program put something there meanwhile.
	ErrConflict = bucket.ErrConflict
	// ErrForeign: something that this program didn't write is there.
	ErrForeign = errors.New("an object is there that reportferry didn't write")
)

// A Receipt says where a part went, for the ledger and for people.
type Receipt struct {
	Sink string `json:"sink"` // the sink's URL without its query, which may hold secrets
	Key  string `json:"key"`  // object key or table partition
	Size int64  `json:"size"` // bytes stored

	// Store is the canonical identity of the store, more than the URL without its query: scheme,
	// account or endpoint, bucket, prefix and layout. Receipts of earlier versions have none.
	Store string `json:"store,omitempty"`

	// Version is the store's own name for this state of the object: its generation, or its ETag
	// without the quotes. For BigQuery it is the table's version: when it was created, in
	// milliseconds since 1970. It is empty where there is none, and in receipts of earlier
	// versions.
	Version string `json:"version,omitempty"`
}

// A Schema is a table's definition, for sinks that keep tables.
type Schema struct {
	Columns []Column // in the order of the part's file
	Period  string   // length of a partition: day, week, month, quarter, year, or whole when the table has none
	On      string   // the column, a date or an hour, whose value names a row's partition; empty when Period is whole
	About   *About   // a description of the table; nil if there is none

	// Settings of warehouses, from the job's config.
	ClusterBy     []string          // columns by which rows are sorted in storage, at most four
	RequireFilter bool              // the warehouse refuses a query that doesn't say which partitions it reads
	Expiration    time.Duration     // how long a partition is kept, from its own day on; 0 means for ever
	KMSKey        string            // the resource name of the key that encrypts the table; empty for the store's own
	Labels        map[string]string // for the table, by their keys
	Partitioned   bool              // each partition is a table of its own below the table
	Indexes       [][]string        // sets of columns, one for each index

	// History is how long old states of the table can be read, in a store that keeps them. A put
	// may remove older states. 0 keeps all states for ever.
	History time.Duration
}

// About describes a table for its readers.
type About struct {
	Text     string // a sentence or two
	Job      string // the job that fills it
	Currency string // the currency of amounts of money; empty if there are none
	Zone     string // the zone in which its periods begin and end
}

// A Column is one column of a table.
type Column struct {
	Name        string
	Source      string // the service's name for the column, if the config renames it; empty if it is Name
	Type        ColumnType
	Required    bool // a dimension: never NULL
	Description string

	// What a metric's numbers mean, in words; empty for other columns.
	Unit     string // such as count or money
	Additive string // whether rows may be added up: yes, not over time, or no
	Final    string // when the service stops changing a number
}

// Slug returns the service's name for the column, which is its name in the catalogue.
func (c Column) Slug() string { return cmp.Or(c.Source, c.Name) }

// Text returns all that is known about a column, in one line.
func (c Column) Text() string {
	var more []string
	if c.Unit != "" {
		more = append(more, c.Unit)
	}
	if c.Additive != "" {
		more = append(more, "additive: "+c.Additive)
	}
	if c.Final != "" {
		more = append(more, "final: "+c.Final)
	}
	if more == nil {
		return c.Description
	}
	return strings.TrimSpace(c.Description + " (" + strings.Join(more, "; ") + ")")
}

// A ColumnType is the type of a column. Each sink translates it into its store's own.
type ColumnType string

// These are the column types. A part's file holds no others.
const (
	String   ColumnType = "string"
	Date     ColumnType = "date"
	DateTime ColumnType = "local time" // a date and a time of day without a zone
	Instant  ColumnType = "instant"    // a moment, which readers see in UTC
	Int64    ColumnType = "int64"
	Decimal  ColumnType = "decimal" // 18 digits, 6 of them after the point
	Double   ColumnType = "double"
)
