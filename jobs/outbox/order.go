package outbox

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// An idHistory is what is known of one ID while states are set in order. There is one for each ID
// of a bucket, however many rows it has. It serves one rule: the service gets the records of an ID
// in the order of files, and in a file in the order of rows, and none of them twice.
type idHistory struct {
	id       [16]byte
	rows     int64 // of this file that have a state
	blocked  bool  // a record of an earlier file is pending or in doubt
	late     bool  // a record of a later file was sent
	revision revision
}

// A revision is what was sent of an ID while the file had another content. When the rows of the
// file as it is now begin with the same records, these aren't sent again.
type revision struct {
	sent     chain
	rejected []refusal // those of sent that the service refused
	doubt    bool      // the last one of sent is in doubt
	gap      bool      // a record wasn't sent
	// A record was sent after a gap or after one in doubt: all rows are sent again, from the first
	// one on.
	broken   bool
	rows     chain // the first rows of this file, as many as sent has
	repeated bool  // rows are the records of sent
}

// A refusal is what the service said of the nth record of an ID.
type refusal struct {
	n     int64
	words store.Words
}

// A chain is a hash over the contents of records, in their order.
type chain struct {
	n   int64
	sum uint64
}

func (c *chain) add(content uint64) {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], c.sum)
	binary.BigEndian.PutUint64(b[8:], content)
	c.n, c.sum = c.n+1, xxhash.Sum64(b[:])
}

// inOrder sets the states of the rows of a bucket so that those of an ID keep their order. It
// writes all of them into the index of the push, also those that aren't sent.
func (w *attempt[V]) inOrder(bucket int, readers []*store.IndexReader, ix *store.IndexWriter) error {
	histories := map[[16]byte]*idHistory{}
	historyOf := func(it store.Item) *idHistory {
		if h := w.groups.histories[it.ID()]; h != nil {
			return h
		}
		return histories[it.ID()]
	}
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
	if err == nil && w.before != nil {
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
	case push == w.before:
		h.revision.add(it, s, push.Words)
	case push.Head.Name == w.p.Name: // a revision before that one
	case w.follows(push):
		h.blocked = h.blocked || push.Newest && (s == store.Pending || s == store.Unknown)
	default:
		h.late = h.late || s != store.Pending && s != store.Conflict
	}
}

// add adds a record that the file had, and what became of it.
func (r *revision) add(it store.Item, s store.State, words map[int64]store.Words) {
	sent := s == store.Accepted || s == store.Duplicate || s == store.Unknown || s == store.Rejected
	switch {
	case s == store.Pending:
		r.gap = true
	case r.gap || r.doubt || !sent:
		r.broken = true // the last record that was sent may be none of sent
	default:
		r.sent.add(it.Content)
		r.doubt = s == store.Unknown
		if s == store.Rejected { // sent again, it would come after those that were sent after it
			r.rejected = append(r.rejected, refusal{r.sent.n, words[int64(it.Row)]})
		}
	}
}

// follows tells whether this file comes after that of another push.
func (w *attempt[V]) follows(p *store.Push) bool {
	if p.Head.Order != w.p.Order || w.resumed == nil {
		return p.Head.Order <= w.p.Order
	}
	return p.Head.ID < w.resumed.Head.ID
}

// setState sets the state of the next row of an ID, or of two:
//
//	the rows begin as the file did before it changed       duplicate; in doubt or rejected as it was then
//	a record of a later file was sent already              conflict, unless conflicts are sent
//	a record before it is pending or in doubt              waiting
//	in doubt, and so is one before it, or such are parked  stays so, and all later ones of its IDs wait
//	else                                                   pending: it is sent
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
	case now == store.Pending && late && !w.p.SendConflicts:
		w.states.Set(row, store.Conflict)
	case now == store.Pending && blocked:
		w.states.Set(row, store.Waiting)
		for _, h := range histories {
			h.blocked = true
		}
	case now&^store.Doubt != store.Pending && now&^store.Doubt != store.Unknown: // an earlier run has ended with it
	case blocked, now&^store.Doubt == store.Unknown && w.p.ParkUnknown:
		for _, h := range histories {
			w.stuck[h.id] = struct{}{}
			h.blocked = true
		}
	}
}
