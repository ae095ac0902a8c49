// Package sinks is the seam between jobs and the places where tables become visible. Without it,
// every kind of job would know every store, and the promise that a partition is replaced whole or
// not at all would be kept in as many ways as there are stores.
//
// A job hands a Part to a Sink, and keeps the Receipt in the ledger:
//
//	Part (one Parquet file, and a Condition) ─ Sink.Put ─┬─ Receipt: key, size and version of what is visible now
//	                                                     └─ error: the old rows are still there
//
// blobsink keeps files in buckets, bqsink tables in BigQuery, pgsink tables in a Postgres, and
// icesink tables of Iceberg catalogs. cmd/reportferry lists them by the schemes of their URLs. What
// only some of them can is a small interface beside Sink: Holdings, which tells what the store
// holds, and those that stand on it. What only one can, such as making a view, is a method of that
// one.
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

// Derived names a table of the given kind that describes another table. In a bucket the tables of
// one kind lie side by side, as partitions of one table do, so that readers take all of them for
// one.
func Derived(kind, of string) string { return kind + derived + of }

// Flat is the table's name where names can't have folders.
func Flat(table string) string { return strings.Replace(table, derived, "_", 1) }

const derived = "/table="

// A Sink makes p the whole content of its partition: readers see all the old rows or all the new
// ones. Repeating Put is harmless. When Put returns an error, the old rows are still there, or the
// store has taken the new ones and couldn't confirm them: the caller takes the partition for one in
// doubt, and puts it again.
type Sink interface {
	Put(ctx context.Context, p Part) (Receipt, error)

	// Store returns the canonical identity of the place: scheme, account or endpoint, bucket,
	// prefix and layout, without secrets. Two sinks with the same identity would replace each
	// other's parts.
	Store() string

	Close() error
}

// An Object is what a store says of one object without opening it.
type Object struct {
	Key       string
	Partition civil.Date // of the part that lies under the key; zero when it is no part's key
	Size      int64      // bytes
	Version   string     // as in a Receipt; empty where the store has none, or can't tell it any more

	Counted bool  // Rows is known, and Size isn't what a receipt says
	Rows    int64 // of the part; of a table, of all its partitions

	// Table says that the object is a whole table whose store tells nothing of single partitions.
	// Receipts of them have its version, which is another one when the table was made anew. Oldest
	// is the oldest partition that the table doesn't delete because of its age, and about to be
	// deleted itself; zero: it deletes none.
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

	// A store without conditions orders puts by these names instead: under Lease the part is put,
	// and under none of Earlier, those of leases before, may anything become visible any more once
	// the put has begun. An empty Lease is one that nobody takes over.
	Lease   string
	Earlier []string

	// Warn is called with what a person should know although the put succeeded; nil: nobody is
	// told.
	Warn func(error)

	// Open opens the file for reading from its start. A sink closes what it opened. For a sink that
	// looks at the rows, what it gives is an io.ReaderAt as well.
	Open func() (io.ReadCloser, error)
}

// FingerprintKey is the key of the file's metadata under which a part has a checksum of what its
// numbers mean.
const FingerprintKey = "reportferry.fingerprint"

// A Condition says what a Put may replace. A sink whose store has preconditions sends it to the
// store, which checks it at the moment when it applies the write: a put that starts late, is
// repeated by a client or is applied late fails instead of replacing newer rows. A version is taken
// from a receipt. The zero Condition allows whatever is there when the put begins, and nothing that
// comes after it. BigQuery has none; see Part.Lease.
type Condition = bucket.Condition

// The errors of a put whose condition wasn't met. Nothing was replaced.
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
	// without the quotes. In BigQuery it is the table's: when it was created, in milliseconds
	// since 1970. Empty where there is none, and in receipts of earlier versions.
	Version string `json:"version,omitempty"`
}

// A Schema is a table's definition, for sinks that keep tables.
type Schema struct {
	Columns []Column // in the order of the part's file
	Period  string   // of a partition: day, week, month, quarter, year, or whole when the table has none
	On      string   // the column, a date or an hour, whose value names a row's partition; empty when Period is whole
	About   *About   // what the table is; nil: nobody describes it

	// Settings of warehouses, from the job's config.
	ClusterBy     []string      // columns by which rows are sorted in storage, at most four
	RequireFilter bool          // the warehouse refuses a query that doesn't say which partitions it reads
	Expiration    time.Duration // of a partition, from its own day on; 0: never
	KMSKey        string
	Labels        map[string]string
	Partitioned   bool       // each partition is a table of its own below the table
	Indexes       [][]string // columns by which rows are found

	// History is how long old states of the table can be read, in a store that keeps them; 0: for
	// ever. What is older may be removed by a put.
	History time.Duration
}

// About says what a table is, for those who read it.
type About struct {
	Text     string // a sentence or two
	Job      string // that fills it
	Currency string // of money; empty: it has none
	Zone     string // in which its periods begin and end
}

// A Column is one column of a table.
type Column struct {
	Name        string
	Source      string // what the service calls it, where the config renames it; empty: Name
	Type        ColumnType
	Required    bool // a dimension: never NULL
	Description string

	// What a metric's numbers mean, in words; empty for other columns.
	Unit     string // such as count or money
	Additive string // whether rows may be added up: yes, not over time, or no
	Final    string // since when the service changes a number no more
}

// Slug is what the service calls the column, by which the catalogue knows it.
func (c Column) Slug() string { return cmp.Or(c.Source, c.Name) }

// Text is all that is said of a column, in one line.
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

// The column types. A part's file holds no others.
const (
	String   ColumnType = "string"
	Date     ColumnType = "date"
	DateTime ColumnType = "local time" // a date and a time of day without a zone
	Instant  ColumnType = "instant"    // a moment, which readers see in UTC
	Int64    ColumnType = "int64"
	Decimal  ColumnType = "decimal" // 18 digits, 6 of them after the point
	Double   ColumnType = "double"
)
