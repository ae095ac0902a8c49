package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// defaultFoldAbove is how many records may be objects of their own, unless the ledger's options say otherwise.
const defaultFoldAbove = 64

func segmentKey(table string, n int) string {
	return fmt.Sprintf("tables/%s/segments/%06d.json", table, n)
}

// Fold compacts the table's part of the ledger. When many objects have gathered, it writes all records into one segment
// and sweeps released claims, so that planning takes a handful of bucket calls however long the table is. Readers and
// writers may go on meanwhile: records are never changed, and a segment holds everything that the one before it held.
func (t *Table) Fold(ctx context.Context) error {
	if err := t.Refresh(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	loose := slices.Sorted(maps.Keys(t.loose))
	next := t.segment + 1
	t.mu.Unlock()
	if len(loose) > t.ledger.foldAbove {
		if err := t.fold(ctx, loose, next); err != nil {
			return err
		}
	}
	return t.sweep(ctx, t.ledger.foldAbove/2)
}

// fold writes segment number next and drops the loose records that are in it.
func (t *Table) fold(ctx context.Context, loose []string, next int) error {
	t.mu.Lock()
	entries := make([]Record, 0, len(t.entries))
	for _, e := range t.entries {
		entries = append(entries, e)
	}
	t.mu.Unlock()
	slices.SortFunc(entries, func(a, b Record) int { return a.Partition.Compare(b.Partition) })
	return t.ledger.compact(ctx, t.prefix("segments"), next, entries, func() error {
		t.mu.Lock()
		t.segment = max(t.segment, next)
		t.mu.Unlock()
		for _, key := range loose {
			t.drop(ctx, key)
		}
		return nil
	})
}
