package outbox

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// A past is what is known of one ID: of its records in other pushes, and of its rows in this file so far. There is one for
// each ID of a bucket, however many rows it has.
type past struct {
	id      [16]byte
	blocked bool  // a record that comes before is pending or in doubt
	late    bool  // a record that comes after was sent
	before  chain // the records that were sent of it when the file had another content
	other   bool  // the rows can't begin with those: they are sent from the first one on
	doubt   bool  // the last of those is in doubt
	open    bool  // some of those weren't sent
	now     chain // the rows of this file, as many as before has
	taken   bool  // the rows begin with before
	rows    int64
	refused []refusal // those of before that the service refused
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

// inOrder sets the states of the rows of a bucket when those of an ID keep their order. All of them are in the index of the push, also
// those that aren't sent.
func (w *attempt[V]) inOrder(bucket int, readers []*store.IndexReader, ix *store.IndexWriter) error {
	pasts := map[[16]byte]*past{}
	of := func(it store.Item) *past {
		if p := w.groups.pasts[it.ID()]; p != nil {
			return p
		}
		return pasts[it.ID()]
	}
	err := w.spool.Each(bucket, func(it store.Item) error {
		if of(it) == nil {
			pasts[it.ID()] = &past{id: it.ID()}
		}
		return nil
	})
	for _, r := range readers {
		if err == nil {
			err = r.Each(bucket, nil, func(it store.Item, s store.State) {
				if p := of(it); p != nil {
					w.addPast(p, r.Push, it, s)
				}
			})
		}
	}
	if err == nil && w.before != nil {
		err = w.spool.Each(bucket, func(it store.Item) error {
			if p := of(it); p.now.n < p.before.n {
				p.now.add(it.Content)
				p.taken = !p.other && p.now == p.before
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	return w.spool.Each(bucket, func(it store.Item) error {
		if p := pasts[it.ID()]; p != nil {
			w.place(int64(it.Row), p)
		} else {
			w.groups.keep(it)
		}
		if ix == nil {
			return nil
		}
		return ix.Add(it)
	})
}

// addPast notes what became of a record of another push.
func (w *attempt[V]) addPast(p *past, of *store.Push, it store.Item, s store.State) {
	switch {
	case of == w.before:
		switch {
		case s == store.Pending:
			p.open = true
		case p.open || p.doubt || s != store.Accepted && s != store.Duplicate && s != store.Unknown && s != store.Rejected:
			p.other = true // it has to be sent again from the first row on: the last one that was sent may be none of them
		default:
			p.before.add(it.Content)
			p.doubt = s == store.Unknown
			if s == store.Rejected { // sent again, it would come after those that were sent after it
				p.refused = append(p.refused, refusal{p.before.n, of.Words[int64(it.Row)]})
			}
		}
	case of.Head.Name == w.p.Name: // as it was before that
	case w.follows(of):
		p.blocked = p.blocked || of.Newest && (s == store.Pending || s == store.Unknown)
	default:
		p.late = p.late || s != store.Pending && s != store.Conflict
	}
}

// follows tells whether this file comes after that of another push.
func (w *attempt[V]) follows(p *store.Push) bool {
	if p.Head.Order != w.p.Order || w.resumed == nil {
		return p.Head.Order <= w.p.Order
	}
	return p.Head.ID < w.resumed.Head.ID
}

// place sets the state of the next row of an ID, or of two:
//
//	the rows begin as the file did before it changed       duplicate; in doubt or rejected as it was then
//	a record that comes after it was sent already          conflict, unless conflicts are sent
//	a record before it is pending or in doubt              waiting
//	in doubt, and so is one before it, or such are parked  stays so, and all later ones of its IDs wait
//	else                                                   pending: it is sent
func (w *attempt[V]) place(row int64, about ...*past) {
	before, late, blocked := true, false, false
	for _, p := range about {
		p.rows++
		before = before && p.taken && p.rows <= p.before.n
		late, blocked = late || p.late, blocked || p.blocked
	}
	if before {
		w.states.Set(row, store.Duplicate)
		for _, p := range about {
			switch {
			case p.doubt && p.rows == p.before.n:
				w.states.Set(row, store.Unknown)
			case len(p.refused) > 0 && p.refused[0].n == p.rows:
				w.states.Set(row, store.Rejected)
				w.words[row] = p.refused[0].words
				p.refused = p.refused[1:]
			}
		}
	}
	switch now := w.states.Get(row); {
	case now == store.Pending && late && !w.p.SendConflicts:
		w.states.Set(row, store.Conflict)
	case now == store.Pending && blocked:
		w.states.Set(row, store.Waiting)
		for _, p := range about {
			p.blocked = true
		}
	case now&^store.Doubt != store.Pending && now&^store.Doubt != store.Unknown: // over before
	case blocked, now&^store.Doubt == store.Unknown && w.p.ParkUnknown:
		for _, p := range about {
			w.stuck[p.id] = struct{}{}
			p.blocked = true
		}
	}
}
