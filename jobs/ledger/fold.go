package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Loose records above which they are folded, unless the ledger's options say otherwise.
const defaultFoldAbove = 64

func segmentKey(table string, n int) string {
	return fmt.Sprintf("tables/%s/segments/%06d.json", table, n)
}

// Fold writes all records into one segment when many objects have gathered, so that planning stays a handful of bucket
// calls however long the table is, and sweeps claims. Readers and writers may go on meanwhile: records are never changed,
// a segment holds all that the one before it held, and of two folders at once one wins.
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

// fold writes segment number next and drops the loose records that it holds.
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
