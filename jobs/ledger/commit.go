package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/reportferry/reportferry/internal/telemetry/step"
)

// Commit writes e as the newest record of its partition. It fills in the segment, and the sequence number when e has
// none: the one after the newest that this table has read. When another process has recorded the partition meanwhile,
// the error is ErrLost and e doesn't hold.
func (t *Table) Commit(ctx context.Context, e Record) error {
	ctx, about := step.Begin(ctx, step.Record)
	err := t.commit(ctx, e)
	about.Set(attribute.String("reportferry.partition", e.Partition.String()), attribute.String("reportferry.state", string(e.State)))
	about.End(err)
	return err
}

func (t *Table) commit(ctx context.Context, e Record) error {
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
	t.mu.Lock()
	t.own[key] = e
	t.mu.Unlock()
	if err := t.lookAgain(ctx, e); err != nil {
		return err
	}
	t.mu.Lock()
	t.loose[key] = true
	t.keep(e)
	after := t.entries[e.Partition]
	t.mu.Unlock()
	if after.Seq > e.Seq || !same(after, e) {
		return lost // its number was used before and folded away
	}
	return nil
}

// lookAgain is the second look: it reads the segment that holds by now, when that is newer than the one this table has
// read. Creating an object proves that its number was free only if no number was ever deleted, and folding deletes
// records. What was deleted before the segment that e names was read is older than e; what was deleted since is in a
// newer segment.
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

// Doubt records a partition as being published, on top of whatever was recorded last. A writer whose record lost the
// race has put its rows all the same, and whoever recorded meanwhile doesn't know which rows are visible.
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

// dropAll drops records that a segment holds, or newer ones of their partitions: in any order, because each of them counts for nothing
// beside the segment. Those that stay do no harm, because their numbers are lower.
func (t *Table) dropAll(ctx context.Context, keys []string) {
	if t.ledger.drop(ctx, keys...) != nil {
		return // the next fold drops what is left
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range keys {
		delete(t.loose, key)
	}
}
