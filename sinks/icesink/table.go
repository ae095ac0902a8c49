package icesink

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go/catalog"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/reportferry/reportferry/sinks"
)

// A loadedTable is a table as the catalog returned it at some moment, with the store of its files.
type loadedTable struct {
	*table.Table
	files   store
	byPlace map[place]*holding // what the snapshot holds; nil until holdings reads it
}

// load asks the catalog for a table. The error is catalog.ErrNoSuchTable when there is none.
func (s *Sink) load(ctx context.Context, name string) (*loadedTable, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	t, err := c.LoadTable(ctx, s.identifier(name))
	if err != nil {
		return nil, asNoSuchTable(err)
	}
	return s.open(ctx, t, c)
}

// asNoSuchTable returns an error of a catalog, and wraps ErrNoSuchTable if the namespace is
// missing.
func asNoSuchTable(err error) error {
	if errors.Is(err, catalog.ErrNoSuchNamespace) && !errors.Is(err, catalog.ErrNoSuchTable) {
		return fmt.Errorf("%w: %w", catalog.ErrNoSuchTable, err)
	}
	return err
}

// open opens the store of a table's files.
func (s *Sink) open(ctx context.Context, t *table.Table, from table.CatalogIO) (*loadedTable, error) {
	files, err := t.FS(context.WithoutCancel(ctx)) // the store is used after this call, too
	if err != nil {
		return nil, fmt.Errorf("open the store of the table's files: %w", err)
	}
	writable, ok := files.(icebergio.WriteFileIO)
	if !ok {
		return nil, fmt.Errorf("the table's files are at %s, where none can be written", t.Location())
	}
	l := &loadedTable{files: store{writable, &s.manifests}}
	l.Table = table.New(t.Identifier(), t.Metadata(), t.MetadataLocation(),
		func(context.Context) (icebergio.IO, error) { return l.files, nil }, from)
	return l, nil
}

func (s *Sink) identifier(name string) table.Identifier {
	return append(slices.Clone(s.namespace), name)
}

// ensure returns the table, possibly as it was after the last commit. It creates a missing table,
// and adds columns that the table lacks. It fails if the table can't be made to fit the schema.
func (s *Sink) ensure(ctx context.Context, name string, schema *sinks.Schema,
	fingerprint string) (*loadedTable, error) {
	if t := s.committer(name).cached(); t != nil {
		if missing, err := compare(name, t.Table, schema); err == nil && len(missing) == 0 {
			return t, nil
		}
	}
	for range mostRounds {
		t, err := s.load(ctx, name)
		if errors.Is(err, catalog.ErrNoSuchTable) {
			if err := s.create(ctx, name, schema, fingerprint); err != nil &&
				!errors.Is(err, catalog.ErrTableAlreadyExists) {
				return nil, fmt.Errorf("make the table: %w", err)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		missing, err := compare(name, t.Table, schema)
		if err != nil || len(missing) == 0 {
			return t, err
		}
		if err := addColumns(ctx, t.Table, missing); err != nil {
			if now, failed := s.load(ctx, name); failed != nil || now.MetadataLocation() == t.MetadataLocation() {
				return nil, fmt.Errorf("add columns to the table: %w", err)
			}
		}
	}
	return nil, fmt.Errorf("the table isn't there as it was made, or lacks columns that were added, %d times in a "+
		"row: somebody else changes it", mostRounds)
}

// mostRounds bounds how often ensure looks at a table, which it does again after this put or
// another has created the table or added columns.
const mostRounds = 5

// create creates a table, and the namespace if it is missing.
func (s *Sink) create(ctx context.Context, name string, schema *sinks.Schema, fingerprint string) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	there, err := c.CheckNamespaceExists(ctx, s.namespace)
	if err != nil {
		return fmt.Errorf("look for the namespace: %w", err)
	}
	if !there {
		if err := c.CreateNamespace(ctx, s.namespace, nil); err != nil &&
			!errors.Is(err, catalog.ErrNamespaceAlreadyExists) {
			return fmt.Errorf("make the namespace: %w", err)
		}
	}
	columns := fields(schema)
	spec, err := partitioning(schema, columns)
	if err != nil {
		return err
	}
	sorted, err := sortOrder(schema, columns)
	if err != nil {
		return err
	}
	_, err = c.CreateTable(ctx, s.identifier(name), columns, catalog.WithPartitionSpec(&spec),
		catalog.WithSortOrder(sorted),
		catalog.WithProperties(creationProperties(schema, name, fingerprint)))
	return err
}

// addColumns adds columns. They are never required: rows that exist have no value for them.
func addColumns(ctx context.Context, t *table.Table, columns []sinks.Column) error {
	tx := t.NewTransaction()
	change := tx.UpdateSchema(true, false)
	for _, c := range columns {
		change.AddColumn([]string{c.Name}, types[c.Type], c.Text(), false, nil)
	}
	if err := change.Commit(); err != nil {
		return err
	}
	_, err := tx.Commit(ctx)
	return err
}
