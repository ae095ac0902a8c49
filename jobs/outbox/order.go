package outbox

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// An idHistory holds what is known about one ID while setStatesInOrder sets the states of its rows.
// There is one for each ID of a bucket, however many rows the ID has. It serves one rule: the
// service gets the records of an ID in the order of files, and within a file in the order of rows,
// and none of them twice.
type idHistory struct {
	id       [16]byte
	rows     int64    // rows of this file whose state has been set
	blocked  bool     // a record of an earlier file is pending or in doubt
	late     bool     // a record of a later file was sent
	revision revision // what was sent before the file changed; empty if it hasn't
}

// A revision holds the records of an ID that were sent before the file's content changed. When the
// rows of the changed file begin with the same records, these aren't sent again.
type revision struct {
	sent     chain
	rejected []refusal // the records in sent that the service rejected
	doubt    bool      // the last record in sent is in doubt
	gap      bool      // some record wasn't sent
	// A record was sent after a gap or after a record in doubt. Then all rows are sent again, from
	// the first one on.
	broken   bool
	rows     chain // the first rows of the file as it is now, as many as sent has
	repeated bool  // rows has the same records as sent
}

// A refusal says why the service rejected the nth record of an ID.
type refusal struct {
	n     int64
	words store.Words
}

// A chain is a hash over the contents of records, in their order.
type chain struct {
	n   int64 // how many records
	sum uint64
}

// add adds the content of the next record.
func (c *chain) add(content uint64) {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], c.sum)
	binary.BigEndian.PutUint64(b[8:], content)
	c.n, c.sum = c.n+1, xxhash.Sum64(b[:])
}

// setStatesInOrder sets the states of the rows of a bucket so that the rows of an ID are sent in
// order. It adds all rows to the index of the push, including those that aren't sent.
func (w *attempt[V]) setStatesInOrder(bucket int, readers []*store.IndexReader, ix *store.IndexWriter) error {
	histories := map[[16]byte]*idHistory{}
	historyOf := func(it store.Item) *idHistory { // nil: the ID isn't in this file
		if h := w.groups.histories[it.ID()]; h != nil {
			return h
		}
		return histories[it.ID()]
	}
	// Make a history for each ID of the bucket, and fill it with the records of other pushes.
	err := w.spool.Each(bucket, func(it store.Item) error {
		if historyOf(it) == nil {
			histories[it.ID()] = &idHistory{id: it.ID()}
		}
		return nil
	})
	for _, r := range readers {
		if err == nil {
			err = r.Each(bucket, nil, func(it store.Item, s store.State) {
				if h := historyOf(it); h != nil {
					w.addSent(h, r.Push, it, s)
				}
			})
		}
	}
	// If the file has changed, find out for which IDs it begins with the records sent before.
	if err == nil && w.previous != nil {
		err = w.spool.Each(bucket, func(it store.Item) error {
			if r := &historyOf(it).revision; r.rows.n < r.sent.n {
				r.rows.add(it.Content)
				r.repeated = !r.broken && r.rows == r.sent
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	// Set the states. The rows of groups wait until all buckets are read.
	return w.spool.Each(bucket, func(it store.Item) error {
		if h := histories[it.ID()]; h != nil {
			w.setState(int64(it.Row), h)
		} else {
			w.groups.keep(it)
		}
		if ix == nil {
			return nil
		}
		return ix.Add(it)
	})
}

// addSent adds a record of another push, and what became of it, to the history of its ID.
func (w *attempt[V]) addSent(h *idHistory, push *store.Push, it store.Item, s store.State) {
	switch {
	case push == w.previous:
		h.revision.add(it, s, push.Words)
	case push.Head.Name == w.task.Name: // an older content of the file than w.before; it doesn't count
	case w.follows(push):
		h.blocked = h.blocked || push.Newest && (s == store.Pending || s == store.Unknown)
	default:
		h.late = h.late || s != store.Pending && s != store.Conflict
	}
}

// add adds a record that the file had before it changed, and what became of it.
func (r *revision) add(it store.Item, s store.State, words map[int64]store.Words) {
	sent := s == store.Accepted || s == store.Duplicate || s == store.Unknown || s == store.Rejected
	switch {
	case s == store.Pending:
		r.gap = true
	case r.gap || r.doubt || !sent:
		r.broken = true // the last record that the service got may not be in sent
	default:
		r.sent.add(it.Content)
		r.doubt = s == store.Unknown
		if s == store.Rejected { // it isn't sent again, because it would come after its successors
			r.rejected = append(r.rejected, refusal{r.sent.n, words[int64(it.Row)]})
		}
	}
}

// follows tells whether this file comes after that of another push.
func (w *attempt[V]) follows(p *store.Push) bool {
	if p.Head.Order != w.task.Order || w.resumed == nil {
		return p.Head.Order <= w.task.Order
	}
	return p.Head.ID < w.resumed.Head.ID
}

// setState sets the state of the next row of one ID, or of two, by the first case that applies:
//
//   - It repeats a record that was sent before the file changed: duplicate, or in doubt or rejected
//     as that record was.
//   - A record of a later file was sent already: conflict, unless SendConflicts is set.
//   - An earlier record of its IDs is pending or in doubt: waiting.
//   - It is in doubt, and so is an earlier record, or ParkUnknown is set: it stays in doubt, and
//     all later records of its IDs wait.
//   - Otherwise: pending, which means that it is sent.
func (w *attempt[V]) setState(row int64, histories ...*idHistory) {
	repeated, late, blocked := true, false, false
	for _, h := range histories {
		h.rows++
		repeated = repeated && h.revision.repeated && h.rows <= h.revision.sent.n
		late, blocked = late || h.late, blocked || h.blocked
	}
	if repeated {
		w.states.Set(row, store.Duplicate)
		for _, h := range histories {
			switch r := &h.revision; {
			case r.doubt && h.rows == r.sent.n:
				w.states.Set(row, store.Unknown)
			case len(r.rejected) > 0 && r.rejected[0].n == h.rows:
				w.states.Set(row, store.Rejected)
				w.words[row] = r.rejected[0].words
				r.rejected = r.rejected[1:]
			}
		}
	}
	switch now := w.states.Get(row); {
	case now == store.Pending && late && !w.task.SendConflicts:
		w.states.Set(row, store.Conflict)
	case now == store.Pending && blocked:
		w.states.Set(row, store.Waiting)
		for _, h := range histories {
			h.blocked = true
		}
	case now&^store.Doubt != store.Pending && now&^store.Doubt != store.Unknown: // an earlier run has finished it
	case blocked, now&^store.Doubt == store.Unknown && w.task.ParkUnknown:
		for _, h := range histories {
			w.stuck[h.id] = struct{}{}
			h.blocked = true
		}
	}
}
