package jobs

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// Record commits e as the newest record of its partition; e's Seq and Segment are filled in. When another process has
// recorded the partition meanwhile, nothing is written and the error is ErrLost.
func (t *Table) Record(ctx context.Context, e Entry) error {
	t.mu.Lock()
	previous, existed := t.entries[e.Partition]
	e.Seq, e.Segment = previous.Seq+1, t.segment
	t.mu.Unlock()

	key := entryKey(t.name, e.Partition, e.Seq)
	data, err := encodeObject(e)
	if err != nil {
		return fmt.Errorf("%w: record %s: %w", ErrLedger, t.ledger.location(key), err)
	}
	err = t.ledger.create(ctx, key, data)
	if errors.Is(err, errExists) && !t.isMine(ctx, key, e) {
		return fmt.Errorf("%w: record %s: another run has recorded it meanwhile: %w", ErrLedger, t.ledger.location(key), ErrLost)
	}
	if err != nil && !errors.Is(err, errExists) {
		return fmt.Errorf("%w: record %s: %w", ErrLedger, t.ledger.location(key), err)
	}

	t.mu.Lock()
	t.loose[key] = true
	t.keep(e)
	t.mu.Unlock()
	if existed {
		t.drop(ctx, entryKey(t.name, e.Partition, previous.Seq))
	}
	return nil
}

// isMine tells whether the object under key is e: its creation was answered by an error though it had succeeded.
func (t *Table) isMine(ctx context.Context, key string, e Entry) bool {
	var stored, mine Entry
	data, err := encodeObject(e)
	return err == nil && decodeObject(data, &mine) == nil &&
		t.ledger.read(ctx, key, &stored) == nil && reflect.DeepEqual(stored, mine)
}

// drop deletes a record that a newer one or a segment has replaced. One that stays does no harm: its seq is lower.
func (t *Table) drop(ctx context.Context, key string) {
	t.mu.Lock()
	loose := t.loose[key]
	t.mu.Unlock()
	if !loose {
		return
	}
	if err := t.ledger.bucket.Delete(ctx, key); err != nil && !isNotFound(err) {
		return
	}
	t.mu.Lock()
	delete(t.loose, key)
	t.mu.Unlock()
}
