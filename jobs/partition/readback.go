package partition

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// A NotAsRecorded is the error when a sink holds something else of a partition than the ledger
// records.
type NotAsRecorded struct{ Why string }

func (e *NotAsRecorded) Error() string { return e.Why }

// ReadBack copies what a sink holds of a partition into folder dir, compares its rows and their
// content hash with the record, and calls use with the copy unless use is nil. The error is a
// NotAsRecorded if they differ; any other says that the part couldn't be read, or comes from use.
func ReadBack(ctx context.Context, from sinks.Reader, dir, name string, e ledger.Record, s ledger.Shape,
	use func(io.ReaderAt, int64) error) (err error) {
	part, err := from.Read(ctx, name, e.Partition)
	if errors.Is(err, fs.ErrNotExist) {
		return &NotAsRecorded{"is missing"}
	}
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, "readback-*.parquet")
	if err != nil {
		return errors.Join(err, part.Close())
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	size, err := io.Copy(file, part)
	if err = errors.Join(err, part.Close()); err != nil {
		return fmt.Errorf("read %s/%s: %w", name, e.Partition, err)
	}
	rows, hash, err := table.Measure(ctx, file, size, columnsOf(s))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return &NotAsRecorded{fmt.Sprintf("can't be read as a part: %v", err)}
	case rows != e.Rows:
		return &NotAsRecorded{fmt.Sprintf("holds %d rows, the ledger says %d", rows, e.Rows)}
	case hash != e.Hash:
		return &NotAsRecorded{fmt.Sprintf("holds %d rows whose content hash isn't the recorded one", rows)}
	case use == nil:
		return nil
	}
	return use(file, size)
}

// Reads tells whether a target gives back what was put.
func (t *Table) Reads() bool {
	return slices.ContainsFunc(t.o.Targets, func(target ledger.Target) bool {
		_, reads := target.Sink.(sinks.Reader)
		return reads
	})
}

// Rows calls use with the typed rows of a recorded partition, as table.ReadRows does, with the
// columns of the recorded shape. The rows come from the first target that gives them back as
// recorded.
func (t *Table) Rows(ctx context.Context, e ledger.Record, s ledger.Shape, use func([][]any) error) error {
	err := errors.New("no sink gives back what was put")
	for _, target := range t.o.Targets {
		reader, reads := target.Sink.(sinks.Reader)
		if _, has := e.Receipt(target); !reads || !has {
			continue
		}
		var differs *NotAsRecorded
		if err = ReadBack(ctx, reader, t.o.SpoolDir, t.o.Name, e, s, func(r io.ReaderAt, size int64) error {
			return table.ReadRows(ctx, r, size, columnsOf(s), use)
		}); !errors.As(err, &differs) {
			return err
		}
	}
	return err
}

// columnsOf returns the names, types and stamps of a shape's columns, which is all that reading
// needs.
func columnsOf(s ledger.Shape) []table.Column {
	var columns []table.Column
	for _, c := range s.Columns {
		var t catalog.Type
		if err := t.UnmarshalText([]byte(c.Type)); err != nil {
			t = catalog.String // a type of a later version: the hash won't be equal, and that is reported
		}
		columns = append(columns, table.Column{Name: c.Name, Type: t, Stamp: table.Stamp(c.Stamp)})
	}
	return columns
}
