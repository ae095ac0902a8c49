package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"go.opentelemetry.io/otel/attribute"
	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/internal/telemetry/step"
)

// Commit writes e as the newest record of its partition, on top of what this table has read last. See CommitAll.
func (t *Table) Commit(ctx context.Context, e Record) error {
	last, _ := t.Record(e.Partition)
	e.After = last.Seq
	return t.CommitAll(ctx, []Record{e})[0]
}

// CommitAll writes records of several partitions, each on top of the one whose number is in After, in one swap for those of a month. It
// fills in their numbers. An error is of the record at its place. It is ErrLost when another process has recorded the partition
// meanwhile, and then the record doesn't hold.
func (t *Table) CommitAll(ctx context.Context, list []Record) []error {
	errs := make([]error, len(list))
	months := map[string][]int{}
	for i := range list {
		list[i].Seq = list[i].After + 1
		name := monthOf(list[i].Partition)
		months[name] = append(months[name], i)
	}
	var g errgroup.Group
	g.SetLimit(readers)
	for _, name := range slices.Sorted(maps.Keys(months)) {
		of := months[name]
		g.Go(func() error {
			ctx, about := step.Begin(ctx, step.Record)
			first := &list[of[0]]
			about.Set(attribute.String("reportferry.partition", first.Partition.String()), attribute.String("reportferry.state", string(first.State)))
			var batch []Record
			for _, i := range of {
				batch = append(batch, list[i])
			}
			lost, err := t.commitMonth(ctx, name, batch)
			for _, i := range of {
				if errs[i] = err; err == nil && slices.Contains(lost, list[i].Partition) {
					errs[i] = t.lost(list[i])
				}
			}
			about.End(errs[of[0]])
			return nil
		})
	}
	_ = g.Wait() // errors are in errs
	return errs
}

// commitMonth writes records of one month, and gives those that were lost to another process.
func (t *Table) commitMonth(ctx context.Context, name string, batch []Record) (lost []civil.Date, err error) {
	t.mu.Lock()
	shapes, scopes := t.shapes, t.scopes
	t.mu.Unlock()
	d := t.document(name)
	err = d.Change(ctx, Change[month]{
		Apply: func(m *month) error {
			if lost = m.commit(batch, shapes, scopes); len(lost) == len(batch) {
				return ErrLost
			}
			return nil
		},
		Done: func(m *month) bool {
			lost = nil
			for _, e := range batch {
				if !m.has(e) {
					lost = append(lost, e.Partition)
				}
			}
			return len(lost) < len(batch)
		},
	})
	t.takeDocument(name)
	if errors.Is(err, ErrLost) {
		err = nil
	}
	return lost, err
}

func (t *Table) lost(e Record) error {
	return fmt.Errorf("%w: %s/%s: another run has recorded it meanwhile: %w", ErrBucket, t.ledger.location(t.prefix("months")), e.Partition, ErrLost)
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
