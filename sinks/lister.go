package sinks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"cloud.google.com/go/civil"
)

// A Lister is a sink that can list what its store holds of a table. The store is asked each time,
// because somebody may have deleted, truncated or restored the table since the ledger got its
// receipts.
type Lister interface {
	// List returns, with one call, everything that a reader of the table finds, whoever put it
	// there, by ascending key. It is empty when there is no such table.
	List(ctx context.Context, table string) ([]Object, error)
}

// A Counter is a sink whose List returns one object, with Table set, for a whole table.
type Counter interface {
	Lister

	// Count returns the partitions of the table that have rows, by ascending key, each with its
	// number of rows. It costs money. A second call with the same value of once returns ErrCounted,
	// so that nothing need be counted twice.
	Count(ctx context.Context, table, once string) ([]Object, error)
}

// A Conditional sink is one whose store checks the conditions of puts, because it knows the version
// of every part.
type Conditional interface {
	Lister

	// ConditionOf returns the condition that allows a put to replace what a partition holds now,
	// but nothing that comes later. With own set, the error is ErrForeign unless this program wrote
	// what is there.
	ConditionOf(ctx context.Context, table string, partition civil.Date, own bool) (Condition, error)
}

// A Reader is a sink that can return what was put.
type Reader interface {
	Lister

	// Read opens the whole content of a partition; the error is fs.ErrNotExist when there is none.
	Read(ctx context.Context, table string, partition civil.Date) (io.ReadCloser, error)
}

// A Ranger is a sink whose files can be read at any offset, as is needed for the end of a Parquet
// file.
type Ranger interface {
	At(ctx context.Context, key string) io.ReaderAt
}

// A Labeller is a sink whose readers see rows instead of files, and which keeps the metadata of
// their parts.
type Labeller interface {
	// Meaning returns the fingerprint of the part that a partition holds (see FingerprintKey), and
	// the columns of its table.
	Meaning(ctx context.Context, table string, partition civil.Date) (fingerprint string, columns []string, err error)
}

// A Taker is a sink that keeps tables with a schema.
type Taker interface {
	// Takes returns an error if a table doesn't accept parts with the schema, as it is or after the
	// missing columns are added. It changes nothing. A table that doesn't exist yet accepts them.
	Takes(ctx context.Context, table string, schema *Schema) error
}

// NoNUL marks a sink whose texts can't contain the character U+0000. Its method does nothing.
type NoNUL interface{ NoNUL() }

// A Configurer is a sink whose tables have settings that can be changed later, such as how long
// they keep a partition.
type Configurer interface {
	// Configure changes the settings of an existing table to those of the schema, as a put would.
	// It sends no request when they are known to fit. It calls warn, which may be nil, with what a
	// person should know.
	Configure(ctx context.Context, table string, schema *Schema, warn func(error)) error

	// Oldest returns the oldest partition, in the sense of Object.Oldest, that a listed table keeps
	// once it has this expiration.
	Oldest(ctx context.Context, table string, expiration time.Duration) (civil.Date, error)
}

// A Describer is a sink that keeps a description of a table.
type Describer interface {
	// Mixed writes into the description, if there is one, whether the numbers in the table's
	// partitions have two different meanings.
	Mixed(ctx context.Context, table string, are bool) error
}

// ErrCounted says that the partitions were counted before under the same name.
var ErrCounted = errors.New("its partitions were counted today already")

// ErrUnchanged is wrapped by a put's error when it is certain that nothing of the part is visible,
// or ever will be.
var ErrUnchanged = errors.New("the old rows stay")

// NotKept is the error of a put that the store would undo at once, because the table keeps no
// partition of that age.
type NotKept struct {
	Oldest  civil.Date // in the sense of Object.Oldest
	Because string     // what makes the table drop older partitions, and how to keep them
}

func (e *NotKept) Error() string {
	return fmt.Sprintf("partitions before %s aren't kept: %s", e.Oldest, e.Because)
}

// Is makes the error an ErrUnchanged, because nothing was put.
func (e *NotKept) Is(target error) bool { return target == ErrUnchanged }
