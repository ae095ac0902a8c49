package outbox

import (
	"context"
	"slices"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// dedupe finds out which of the pending rows have been sent already, from this file or another one,
// and sets their states. It works bucket by bucket (store.Buckets), so that its memory depends on
// the file alone and not on how much was pushed before. The rows that remain are added to ix, the
// index of the push, unless it is nil.
func (w *attempt[V]) dedupe(ctx context.Context, ix *store.IndexWriter) (err error) {
	var readers []*store.IndexReader // the indexes of all other pushes whose records are remembered
	defer func() {
		for _, r := range readers {
			r.Close()
		}
	}()
	for _, p := range w.pushes {
		if p == w.resumed || p.Head.Pruned || p.Head.Records == 0 {
			continue
		}
		r, err := w.outbox.table.OpenIndex(ctx, p)
		if err != nil {
			return err
		}
		readers = append(readers, r)
		w.report.Index += int64(len(store.Magic)) + p.Head.Records*store.ItemSize
	}
	var others []counterpart
	for b := range store.Buckets {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.task.Order != "" {
			if err := w.setStatesInOrder(b, readers, ix); err != nil {
				return err
			}
			continue
		}
		items, err := w.spool.Load(b)
		if err != nil {
			return err
		}
		others = others[:0]
		for _, r := range readers {
			err := r.Each(b, items, func(it store.Item, s store.State) {
				if s == store.Accepted || s == store.Unknown {
					others = append(others, counterpart{it, s})
				}
			})
			if err != nil {
				return err
			}
		}
		slices.SortFunc(others, func(a, b counterpart) int { return a.CompareID(b.Item) })
		if err := w.dedupeBucket(items, others, ix); err != nil {
			return err
		}
	}
	w.setStatesOfGroups()
	return nil
}

// A counterpart is a record of another push that was accepted or is in doubt (store.Unknown).
type counterpart struct {
	store.Item
	state store.State
}

// dedupeBucket compares the rows of one bucket with their counterparts in other pushes, ID by ID.
// items are sorted by ID and row, others by ID.
func (w *attempt[V]) dedupeBucket(items []store.Item, others []counterpart, ix *store.IndexWriter) error {
	for len(items) > 0 {
		n := 1
		for n < len(items) && items[n].CompareID(items[0]) == 0 {
			n++
		}
		m := 0
		for m < len(others) && others[m].CompareID(items[0]) == 0 {
			m++
		}
		for _, it := range w.setStatesOfID(items[:n], others[:m]) {
			if ix == nil {
				break
			}
			if err := ix.Add(it); err != nil {
				return err
			}
		}
		items, others = items[n:], others[m:]
	}
	return nil
}

// setStatesOfID sets the states of the rows of one ID by comparing them with each other and with
// their counterparts. It returns the rows that are to be sent, or may have been. They are valid
// until the next call.
func (w *attempt[V]) setStatesOfID(items []store.Item, others []counterpart) (toSend []store.Item) {
	// Collect the contents that were sent, and those that may have been.
	w.sent, w.maybe, toSend = w.sent[:0], w.maybe[:0], w.kept[:0]
	for _, o := range others {
		if o.state == store.Accepted {
			w.sent = append(w.sent, o.Content)
		} else {
			w.maybe = append(w.maybe, o.Content)
		}
	}
	for _, it := range items {
		if w.states.Get(int64(it.Row))&^store.Doubt == store.Accepted {
			w.sent = append(w.sent, it.Content)
		}
	}
	for _, it := range items {
		row := int64(it.Row)
		now := w.states.Get(row)
		// An earlier run may have found this row to be a duplicate or a conflict of a row that was
		// pending then, and that another file has sent since. The row is compared again, but never
		// sent: the index of the push doesn't have it.
		again := now == store.Duplicate || now == store.Conflict
		s := now &^ store.Doubt
		same, maybe := slices.Contains(w.sent, it.Content), slices.Contains(w.maybe, it.Content)
		switch {
		case s != store.Pending && s != store.Unknown && !again: // an earlier run has finished it
		case same, maybe && again:
			w.states.Set(row, store.Duplicate|now&store.Doubt)
		case maybe:
			if now == store.Pending { // otherwise it is in doubt already, or a person wants it sent again
				w.states.Set(row, store.Unknown)
			}
			toSend = w.appendToSend(toSend, it)
		case len(w.sent)+len(w.maybe) > 0 && !w.task.SendConflicts && (now == store.Pending || again):
			w.states.Set(row, store.Conflict)
		case !again:
			toSend = w.appendToSend(toSend, it)
		}
	}
	w.kept = toSend
	return toSend
}

// appendToSend adds a row to toSend; later rows with its content are duplicates of it.
func (w *attempt[V]) appendToSend(toSend []store.Item, it store.Item) []store.Item {
	w.sent = append(w.sent, it.Content)
	return append(toSend, it)
}
