package ledger

import (
	"context"
	"errors"
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
	data, err := encodeObject(entries)
	if err != nil {
		return fmt.Errorf("%w: fold %s: %w", ErrBucket, t.name, err)
	}
	err = t.ledger.create(ctx, segmentKey(t.name, next), data)
	if errors.Is(err, errExists) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: fold %s: %w", ErrBucket, t.ledger.location(segmentKey(t.name, next)), err)
	}
	// A slow folder may have created a number that was used and deleted long ago; what it would drop now may not be in
	// the segment that holds.
	segments, err := t.ledger.list(ctx, t.prefix("segments"))
	if err != nil {
		return err
	}
	if highest(segments) != next {
		return nil
	}
	t.mu.Lock()
	t.segment = max(t.segment, next)
	t.mu.Unlock()
	for _, key := range loose {
		t.drop(ctx, key)
	}
	if next > 1 {
		// The one before goes last: a reader that has listed it meanwhile lists again.
		return t.ledger.drop(ctx, segmentKey(t.name, next-1))
	}
	return nil
}
