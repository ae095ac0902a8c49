package sinks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"cloud.google.com/go/civil"
)

// A Holdings sink tells what its store holds of a table. Somebody may have deleted, truncated or
// restored it since the ledger's receipts were given, so that it is asked and not remembered.
type Holdings interface {
	// List gives in one call everything that a reader of the table finds, whoever put it there, by
	// ascending key. It is empty when there is no such table.
	List(ctx context.Context, table string) ([]Object, error)
}

// A Counter is a sink whose List shows a table as a whole, by one object with Table set.
type Counter interface {
	Holdings

	// Count gives the partitions of the table that have rows, by ascending key, each with its
	// number of rows. It costs money. What is to be counted once only gets a name: of two calls
	// with the same one the second is ErrCounted.
	Count(ctx context.Context, table, once string) ([]Object, error)
}

// A Conditional sink is one whose store checks the conditions of puts, because it knows the version
// of every part.
type Conditional interface {
	Holdings

	// ConditionOf gives the condition under which what a partition holds now may be replaced, and
	// nothing that comes later. With own set, this program must have written what is there, else
	// the error is ErrForeign.
	ConditionOf(ctx context.Context, table string, partition civil.Date, own bool) (Condition, error)
}

// A Reader is a sink that gives back what was put.
type Reader interface {
	Holdings

	// Read opens the whole content of a partition; the error is fs.ErrNotExist when there is none.
	Read(ctx context.Context, table string, partition civil.Date) (io.ReadCloser, error)
}

// A Ranger is a sink whose files can be read here and there, as the end of a Parquet file is.
type Ranger interface {
	At(ctx context.Context, key string) io.ReaderAt
}

// A Labeller is a sink whose readers find rows, and which remembers what their parts said of
// themselves.
type Labeller interface {
	// Meaning gives the fingerprint of the part that a partition holds, and the columns of its
	// table.
	Meaning(ctx context.Context, table string, partition civil.Date) (fingerprint string, columns []string, err error)
}

// A Taker is a sink with tables of its own.
type Taker interface {
	// Takes tells whether a table, as it is or once it has the columns that it lacks, takes parts
	// of a schema. It changes nothing, and a table that isn't there yet takes them.
	Takes(ctx context.Context, table string, schema *Schema) error
}

// A NoNUL is a sink whose texts can't have the character U+0000.
type NoNUL interface{ NoNUL() }

// A Configurer is a sink whose tables have settings that can be changed later, such as how long
// they keep a partition.
type Configurer interface {
	// Configure brings the settings of a table that is there to the schema, as a put would. It asks
	// nothing when they are known to fit. Of what a person should know it tells warn, which may be
	// nil.
	Configure(ctx context.Context, table string, schema *Schema, warn func(error)) error

	// Oldest is the oldest partition, as Object has it, that a listed table keeps once it is
	// configured to an expiration.
	Oldest(ctx context.Context, table string, expiration time.Duration) (civil.Date, error)
}

// A Describer is a sink that keeps a description beside a table.
type Describer interface {
	// Mixed says in the description, if there is one, whether the table's partitions are of two
	// meanings.
	Mixed(ctx context.Context, table string, are bool) error
}

// ErrCounted says that the partitions were counted before under the same name.
var ErrCounted = errors.New("its partitions were counted today already")

// ErrUnchanged is part of a put's error when it is certain that nothing of the part is visible, or
// will be.
var ErrUnchanged = errors.New("the old rows stay")

// NotKept is the error of a put that the store would undo at once, because the table keeps no
// partition of that age.
type NotKept struct {
	Oldest  civil.Date // as Object has it
	Because string
}

func (e *NotKept) Error() string {
	return fmt.Sprintf("partitions before %s aren't kept: %s", e.Oldest, e.Because)
}

// Is tells that nothing was put.
func (e *NotKept) Is(target error) bool { return target == ErrUnchanged }
