package icesink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"cloud.google.com/go/civil"
	"github.com/apache/iceberg-go/catalog"

	"github.com/reportferry/reportferry/sinks"
)

// loadForReading loads a table and fills its byPlace. It returns nil when there is no such table.
func (s *Sink) loadForReading(ctx context.Context, name string) (t *loadedTable, err error) {
	err = s.repeat(ctx, func() error {
		t, err = s.load(ctx, name)
		if errors.Is(err, catalog.ErrNoSuchTable) {
			t, err = nil, nil
		}
		if err == nil && t != nil {
			_, err = t.holdings(ctx)
		}
		return err
	})
	return t, err
}

// ConditionOf returns the condition that allows a put to replace what a partition holds now, and
// nothing that comes later. With own set, the partition must hold what this program put there;
// otherwise the error is sinks.ErrForeign.
func (s *Sink) ConditionOf(ctx context.Context, table string, partition civil.Date, own bool) (sinks.Condition, error) {
	at := place{table: sinks.Flat(table), first: partition}
	over, err := s.condition(ctx, at, own)
	if err != nil {
		return over, fmt.Errorf("look at %s in %s: %w", at.key(), s.url, s.explain(err))
	}
	return over, nil
}

func (s *Sink) condition(ctx context.Context, at place, own bool) (sinks.Condition, error) {
	t, err := s.loadForReading(ctx, at.table)
	if err != nil || t == nil {
		return sinks.Condition{Absent: true}, err
	}
	now, err := t.state(ctx, at)
	switch {
	case err != nil || !own:
	case !ours(t.Table):
		err = fmt.Errorf("%w: %s", sinks.ErrForeign, notOurs)
	case now.foreign:
		err = fmt.Errorf("%w: rows were added, changed or deleted there", sinks.ErrForeign)
	}
	return now.condition(), err
}

// List returns what each partition of a table holds, in the order of their keys. The version is
// empty when another program has rewritten the partition's files, and the snapshot of the put that
// they come from is no longer kept.
func (s *Sink) List(ctx context.Context, table string) (list []sinks.Object, err error) {
	name := sinks.Flat(table)
	t, err := s.loadForReading(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("list %s in %s: %w", name, s.url, s.explain(err))
	}
	if t == nil {
		return nil, nil
	}
	for at := range t.byPlace {
		now, err := t.state(ctx, at)
		if err != nil {
			return nil, fmt.Errorf("list %s in %s: %w", name, s.url, s.explain(err))
		}
		if now.holding == nil {
			continue
		}
		o := sinks.Object{Key: at.key(), Partition: at.first, Size: now.stamp.size, Version: now.version()}
		if now.foreign || o.Version == "" {
			o.Size = now.holding.size()
		}
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b sinks.Object) int { return cmp.Compare(a.Key, b.Key) })
	return list, nil
}

// Meaning returns the fingerprint of the part that was put into the table last, and the columns of
// the table.
func (s *Sink) Meaning(ctx context.Context, table string, _ civil.Date) (fingerprint string, columns []string,
	err error) {
	t, err := s.loadForReading(ctx, sinks.Flat(table))
	switch {
	case err != nil:
		return "", nil, s.explain(err)
	case t == nil:
		return "", nil, nil
	}
	for _, f := range t.Schema().Fields() {
		columns = append(columns, f.Name)
	}
	return t.Properties()[propertyFingerprint], columns, nil
}

// Read opens the file of a partition. The error is fs.ErrNotExist when the partition has none.
func (s *Sink) Read(ctx context.Context, table string, partition civil.Date) (io.ReadCloser, error) {
	at := place{table: sinks.Flat(table), first: partition}
	file, err := s.read(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("read %s in %s: %w", at.key(), s.url, s.explain(err))
	}
	return file, nil
}

func (s *Sink) read(ctx context.Context, at place) (io.ReadCloser, error) {
	t, err := s.loadForReading(ctx, at.table)
	if err != nil {
		return nil, err
	}
	if t == nil || t.byPlace[at] == nil {
		return nil, fs.ErrNotExist
	}
	h := t.byPlace[at]
	if len(h.files) != 1 || !h.whole() {
		return nil, fmt.Errorf("somebody has rewritten the partition, which is %d files by now, or has deleted rows "+
			"of it by another file; "+
			"its rows can be held against the ledger only as one file", len(h.files))
	}
	return t.files.Open(h.files[0].FilePath())
}
