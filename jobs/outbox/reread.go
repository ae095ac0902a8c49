package outbox

import (
	"context"
	"fmt"
)

// reread reads the file for the second time. It calls each for the records of a block only when the
// block has the same digest as in the first reading, so that what is sent is what was validated.
func (w *attempt[V]) reread(ctx context.Context, each func(delivery[V]) error) error {
	again := newDigest()
	var waiting []delivery[V]
	deliver := func() error {
		for _, d := range waiting {
			if err := each(d); err != nil {
				return err
			}
		}
		waiting = waiting[:0]
		return nil
	}
	differs := fmt.Errorf("%w: its second reading gave other records than the first", ErrGrowing)
	err := w.task.Source.Read(ctx, true, func(r *Record[V]) error {
		if r.Skipped != "" {
			return nil
		}
		full, err := add(again, r)
		if err != nil {
			return err
		}
		d := delivery[V]{row: r.Row, queue: w.groups.root(r.ID), id: r.ID, also: r.Also, value: r.Value, cells: r.Cells}
		if r.Refusal != nil {
			refusal := *r.Refusal
			d.refusal = &refusal
		}
		waiting = append(waiting, d)
		switch {
		case !full:
			return nil
		case !again.agrees(w.digest):
			return differs
		}
		return deliver()
	})
	if err == nil && !again.same(w.digest) {
		err = differs
	}
	if err == nil {
		err = deliver()
	}
	if err == nil {
		err = w.checkUnchanged(ctx)
	}
	return err
}
