package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"go.opentelemetry.io/otel/attribute"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/reportferry/reportferry/internal/telemetry/step"
)

// Commit writes e as the newest record of its partition, on top of what this table has read last. See CommitAll.
func (t *Table) Commit(ctx context.Context, e Record) error {
	last, _ := t.Record(e.Partition)
	e.After = last.Seq
	return t.CommitAll(ctx, []Record{e})[0]
}

// CommitAll writes records of several partitions, each on top of the one whose number is in After: one object for those of a week. It
// fills in numbers and segments. An error is of the record at its place. It is ErrLost when another process has recorded the partition
// meanwhile, and then the record doesn't hold.
func (t *Table) CommitAll(ctx context.Context, list []Record) []error {
	errs := make([]error, len(list))
	weeks := map[civil.Date][]int{}
	for i, e := range list {
		week := weekOf(e.Partition)
		weeks[week] = append(weeks[week], i)
	}
	var g errgroup.Group
	g.SetLimit(readers)
	for week, of := range weeks {
		g.Go(func() error {
			ctx, about := step.Begin(ctx, step.Record)
			err := t.commitWeek(ctx, week, list, of, errs)
			about.Set(attribute.String("reportferry.partition", list[of[0]].Partition.String()), attribute.String("reportferry.state", string(list[of[0]].State)))
			about.End(errors.Join(err))
			return nil
		})
	}
	_ = g.Wait() // errors are in errs
	return errs
}

// commitWeek writes the records at these places of the list, which are of one week. It gives the first error.
func (t *Table) commitWeek(ctx context.Context, week civil.Date, list []Record, of []int, errs []error) error {
	fail := func(err error) error {
		for _, i := range of {
			errs[i] = err
		}
		return err
	}
	turn := t.turn(week)
	if err := turn.Acquire(ctx, 1); err != nil {
		return fail(err)
	}
	defer turn.Release(1)
	const tries = 20 // others may be faster with records of other partitions, which takes them as long as us
	for range tries {
		t.mu.Lock()
		number, segment := t.tops[week]+1, t.segment
		of = slices.DeleteFunc(of, func(i int) bool {
			if t.entries[list[i].Partition].Seq != list[i].After {
				errs[i] = t.lost(list[i])
			}
			return errs[i] != nil
		})
		t.mu.Unlock()
		if len(of) == 0 {
			return ErrLost
		}
		var b batch
		for _, i := range of {
			list[i].Seq, list[i].Segment = number, segment
			b.records = append(b.records, list[i])
		}
		key := entryKey(t.name, week, number)
		own, err := t.ledger.createOwn(ctx, key, b)
		if err != nil {
			return fail(err)
		}
		if !own { // the number is taken, perhaps by another's records of other partitions
			if err := t.Refresh(ctx); err != nil {
				return fail(err)
			}
			continue
		}
		t.mu.Lock()
		t.own[key] = b
		t.mu.Unlock()
		if err := t.lookAgain(ctx, segment); err != nil {
			return fail(err)
		}
		return t.taken(key, b, of, errs)
	}
	return fail(fmt.Errorf("%w: record a part of the week of %s in %s: others were faster %d times", ErrBucket, week, t.ledger.location(t.prefix("partitions")), tries))
}

// taken keeps the records of an object that this process has created, and says which of them hold.
func (t *Table) taken(key string, b batch, of []int, errs []error) (first error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loose[key] = true
	t.keepBatch(key, b)
	for n, e := range b.records {
		if !same(t.entries[e.Partition], e) { // another has recorded it, or the number was used before and folded away
			errs[of[n]] = t.lost(e)
			first = errs[of[n]]
		}
	}
	return first
}

// turn is what is held to write the next object of a week, so that windows of this process don't race for its number.
func (t *Table) turn(week civil.Date) *semaphore.Weighted {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turns[week] == nil {
		t.turns[week] = semaphore.NewWeighted(1)
	}
	return t.turns[week]
}

func (t *Table) lost(e Record) error {
	return fmt.Errorf("%w: %s/%s: another run has recorded it meanwhile: %w", ErrBucket, t.ledger.location(t.prefix("partitions")), e.Partition, ErrLost)
}

// lookAgain is the second look: it reads the segment that holds by now, when that is newer than the one that was read before. Creating
// an object proves that its number was free only if no number was ever deleted, and folding deletes records. What was deleted before
// that segment was read is older; what was deleted since is in a newer segment.
func (t *Table) lookAgain(ctx context.Context, segment int) error {
	err := t.segmented.share(ctx, func() error {
		segments, err := t.ledger.list(ctx, t.prefix("segments"))
		t.mu.Lock()
		defer t.mu.Unlock()
		t.highest = max(t.highest, highest(segments))
		return err
	})
	if err != nil {
		return err
	}
	t.mu.Lock()
	newest := t.highest
	t.mu.Unlock()
	if newest <= segment {
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
		e.Rows = max(e.Rows, newest.Rows)
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
