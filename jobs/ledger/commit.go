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

// Commit writes e as the newest record of its partition, after the last record that this table has
// read, regardless of leases. With the state Publishing, e keeps the last record's state, hash and
// run. A process that holds a lease and has written data since then learns of the new record when
// it records its own.
func (t *Table) Commit(ctx context.Context, e Record) error {
	last, _ := t.Recorded(e.Partition)
	if e.After = last.Seq; e.State == Publishing {
		e.State, e.Hash, e.Run = last.State, last.Hash, last.Run
	}
	return t.CommitAll(ctx, nil, []Record{e})[0]
}

// CommitAll writes records of several partitions under their lease, each after the record whose
// number is in After, and fills in their own numbers. The records of a month are written in one
// swap, which ends their leases. The errors are by index. An error is ErrLost when another process
// has leased or recorded the partition meanwhile; the record is then not in effect. With a lease,
// CommitAll goes on for three seconds after ctx has ended.
func (t *Table) CommitAll(ctx context.Context, by *Lease, list []Record) []error {
	errs := make([]error, len(list))
	if by != nil { // a run that is being stopped records what it has put
		var done context.CancelFunc
		ctx, done = outliving(ctx, 3*time.Second)
		defer done()
	}
	months := map[string][]int{} // by month: indexes of its records in list
	for i := range list {
		list[i].Seq = list[i].After + 1
		name := monthOf(list[i].Partition)
		months[name] = append(months[name], i)
	}
	var g errgroup.Group
	g.SetLimit(readers)
	for _, name := range slices.Sorted(maps.Keys(months)) {
		indexes := months[name]
		g.Go(func() error {
			ctx, span := step.Begin(ctx, step.Record)
			first := &list[indexes[0]]
			span.Set(attribute.String("reportferry.partition", first.Partition.String()),
				attribute.String("reportferry.state", string(first.State)))
			var batch []Record
			for _, i := range indexes {
				batch = append(batch, list[i])
			}
			lost, hidden, err := t.commitMonth(ctx, by, name, batch)
			for _, i := range indexes {
				switch errs[i] = err; {
				case err == nil && slices.Contains(hidden, list[i].Partition):
					errs[i] = t.unknownError(list[i])
				case err == nil && slices.Contains(lost, list[i].Partition):
					errs[i] = t.lostError(list[i])
				case err == nil && by != nil && !list[i].Doubt:
					by.markRecorded(list[i].Partition)
				}
			}
			span.End(errs[indexes[0]])
			return nil
		})
	}
	_ = g.Wait() // errors are in errs
	return errs
}

// commitMonth writes the records of one month, and returns the partitions that were lost to another
// process. For those in hidden, it can't be known any more whether the record was written.
func (t *Table) commitMonth(ctx context.Context, by *Lease, name string, batch []Record) (lost, hidden []civil.Date,
	err error) {
	token := ""
	if by != nil {
		token = by.token
		for _, e := range batch {
			by.markSent(e.Partition)
		}
	}
	t.mu.Lock()
	shapes, scopes := t.shapes, t.scopes
	t.mu.Unlock()
	d := t.document(name)
	sent := false // a write of this change may have reached the store
	findHidden := func(m *month) {
		hidden = nil
		for _, e := range batch {
			if sent && slices.Contains(lost, e.Partition) && m.hides(t.derived, e) {
				hidden = append(hidden, e.Partition)
			}
		}
	}
	change := Change[month]{
		Apply: func(m *month) error {
			if err := t.ready(name, m); err != nil {
				return err
			}
			lost = m.commit(t.derived, batch, token, shapes, scopes)
			if findHidden(m); len(lost) == len(batch) {
				return ErrLost
			}
			sent = true
			return nil
		},
		Done: func(m *month) bool {
			lost = nil
			for _, e := range batch {
				if !m.has(t.derived, e) {
					lost = append(lost, e.Partition)
				}
			}
			findHidden(m)
			return len(lost) < len(batch)
		},
	}

	// Write the change, perhaps together with those of other leases of this process.
	if by != nil {
		if by.allPut != nil && by.allSent() {
			by.allPut()
		}
		change.Shared = func() bool { return by.leave(name) }
	}
	err = d.Change(ctx, change)
	t.takeDocument(name)
	if errors.Is(err, ErrLost) {
		err = nil
	}
	return lost, hidden, err
}

// lostError returns the error for a record that lost to one of another run.
func (t *Table) lostError(e Record) error {
	return fmt.Errorf("%w: %s/%s: another run has recorded it meanwhile: %w", ErrBucket,
		t.ledger.location(t.prefix("months")), e.Partition, ErrLost)
}

// unknownError returns the error for a record when it can't be known whether that was written.
func (t *Table) unknownError(e Record) error {
	return fmt.Errorf("%w: %s/%s: the answer was lost, and others have recorded it since, so that nobody knows "+
		"whether this record was there",
		ErrBucket, t.ledger.location(t.prefix("months")), e.Partition)
}

// same reports whether a record that was read equals one that was written.
func same(stored, written Record) bool {
	a, err := json.Marshal(stored)
	b, again := json.Marshal(written)
	return err == nil && again == nil && bytes.Equal(a, b)
}
