package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Commit commits e as the newest record of its partition. e's Segment is filled in, and so is its Seq when it has none:
// it then comes after what this table has read. When another process has recorded the partition meanwhile, the error is
// ErrLost, and e isn't the newest record.
func (t *Table) Commit(ctx context.Context, e Record) error {
	t.mu.Lock()
	newest := t.entries[e.Partition].Seq
	if e.Seq == 0 {
		e.Seq = newest + 1
	}
	e.Segment = t.segment
	t.mu.Unlock()

	key := entryKey(t.name, e.Partition, e.Seq)
	lost := fmt.Errorf("%w: record %s: another run has recorded it meanwhile: %w", ErrBucket, t.ledger.location(key), ErrLost)
	if newest >= e.Seq {
		return lost
	}
	own, err := t.ledger.createOwn(ctx, key, e)
	if err != nil {
		return err
	}
	if !own {
		return lost
	}
	if err := t.lookAgain(ctx, e); err != nil {
		return err
	}
	t.mu.Lock()
	t.loose[key] = true
	t.keep(e)
	after := t.entries[e.Partition]
	t.mu.Unlock()
	if after.Seq > e.Seq || !same(after, e) {
		return lost // its number had been used before, and folded away
	}
	return nil
}

// lookAgain reads the segment that holds, when it is a newer one than this table has read. That an object could be created
// proves that nobody has its number only as long as no number was deleted, and records are deleted by folding alone: what
// was deleted before the segment was read that e names is older than e, and what was deleted since is in a newer one.
func (t *Table) lookAgain(ctx context.Context, e Record) error {
	segments, err := t.ledger.list(ctx, t.prefix("segments"))
	if err != nil {
		return err
	}
	if highest(segments) <= e.Segment {
		return nil
	}
	return t.Refresh(ctx)
}

// same tells whether a record that was read is the one that was written.
func same(stored, written Record) bool {
	a, err := json.Marshal(stored)
	b, again := json.Marshal(written)
	return err == nil && again == nil && bytes.Equal(a, b)
}

// Doubt records a partition as being published, after whatever was recorded last: a writer that lost put its rows, and
// whether they are still visible isn't known to whoever recorded meanwhile.
func (t *Table) Doubt(ctx context.Context, e Record) error {
	ctx, done := outliving(ctx, 3*time.Second)
	defer done()
	const tries = 5
	var err error
	for range tries {
		if err = t.Refresh(ctx); err != nil {
			return err
		}
		newest, _ := t.Record(e.Partition)
		if newest.State == Publishing {
			return nil
		}
		e.Seq, e.Rows = newest.Seq+1, max(e.Rows, newest.Rows)
		if err = t.Commit(ctx, e); err == nil || !errors.Is(err, ErrLost) {
			return err
		}
	}
	return err
}

// drop deletes a record that a segment holds, or a newer one than it. One that stays does no harm: its seq is lower.
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
