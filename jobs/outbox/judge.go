package outbox

import (
	"context"
	"slices"
)

// judge finds, bucket by bucket, which of the pending rows are sent already, from this file or another one: the memory it
// takes depends on the file alone and not on how much was pushed before. Those that remain go to ix when there is one.
func (w *work[V]) judge(ctx context.Context, ix *indexWriter) (err error) {
	var readers []*indexReader
	defer func() {
		for _, r := range readers {
			r.close()
		}
	}()
	for _, p := range w.pushes {
		if p == w.resumed || p.head.Pruned || p.head.Records == 0 {
			continue
		}
		r, err := w.o.table.openIndex(ctx, p)
		if err != nil {
			return err
		}
		readers = append(readers, r)
		w.report.Index += indexSize(p)
	}
	var others []verdict
	for b := range buckets {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.p.Order != "" {
			if err := w.inOrder(b, readers, ix); err != nil {
				return err
			}
			continue
		}
		items, err := w.spool.load(b)
		if err != nil {
			return err
		}
		others = others[:0]
		for _, r := range readers {
			err := r.join(b, items, func(it item, s state) {
				if s == accepted || s == unknown {
					others = append(others, verdict{it, s})
				}
			})
			if err != nil {
				return err
			}
		}
		slices.SortFunc(others, func(a, b verdict) int { return a.compareID(b.item) })
		if err := w.bucket(items, others, ix); err != nil {
			return err
		}
	}
	return nil
}

// A verdict is what became of a record elsewhere: accepted or unknown.
type verdict struct {
	item
	state state
}

// bucket judges items, which are by ID and row, against what became of the same IDs elsewhere.
func (w *work[V]) bucket(items []item, others []verdict, ix *indexWriter) error {
	for len(items) > 0 {
		n := 1
		for n < len(items) && items[n].compareID(items[0]) == 0 {
			n++
		}
		m := 0
		for m < len(others) && others[m].compareID(items[0]) == 0 {
			m++
		}
		for _, it := range w.same(items[:n], others[:m]) {
			if ix == nil {
				break
			}
			if err := ix.add(it); err != nil {
				return err
			}
		}
		items, others = items[n:], others[m:]
	}
	return nil
}

// same judges the rows of one ID, and gives those that are to be sent, or may have been. They are good
// until the next call.
func (w *work[V]) same(items []item, others []verdict) (live []item) {
	w.sent, w.maybe, live = w.sent[:0], w.maybe[:0], w.kept[:0]
	for _, o := range others {
		if o.state == accepted {
			w.sent = append(w.sent, o.content)
		} else {
			w.maybe = append(w.maybe, o.content)
		}
	}
	for _, it := range items {
		if w.states.get(int64(it.row))&^doubt == accepted {
			w.sent = append(w.sent, it.content)
		}
	}
	for _, it := range items {
		row := int64(it.row)
		now := w.states.get(row)
		// What an earlier run found to be a duplicate or a conflict may have been so of a row that was pending, and another
		// file was faster. It is never sent, though: it isn't among the records of the push.
		again := now == duplicate || now == conflict
		s := now &^ doubt
		same, maybe := slices.Contains(w.sent, it.content), slices.Contains(w.maybe, it.content)
		switch {
		case s != pending && s != unknown && !again: // settled before
		case same, maybe && again:
			w.states.set(row, duplicate|now&doubt)
		case maybe:
			if now == pending { // else it is known to be in doubt, or a person wants it sent again
				w.states.set(row, unknown)
			}
			live = w.keep(live, it)
		case len(w.sent)+len(w.maybe) > 0 && !w.p.SendConflicts && (now == pending || again):
			w.states.set(row, conflict)
		case !again:
			live = w.keep(live, it)
		}
	}
	w.kept = live
	return live
}

func (w *work[V]) keep(live []item, it item) []item {
	w.sent = append(w.sent, it.content)
	return append(live, it)
}
