package outbox

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// A past is what is known of an ID elsewhere, and of its rows here so far. There is one for each ID of a bucket, however
// many rows it has.
type past struct {
	blocked bool  // a record that comes before is not settled
	late    bool  // one that comes after was sent
	before  chain // what was sent of it when the file had another content
	other   bool  // and that can't be what its rows begin with
	doubt   bool  // the last of it is in doubt
	open    bool  // some of it wasn't sent
	now     chain // of the rows, as far as before goes
	taken   bool  // they begin with it
	rows    int64
	refused []refusal // of before, by the service
}

// A refusal is what the service said of the nth record of an ID.
type refusal struct {
	n     int64
	words Words
}

// A chain stands for the contents of records, one after the other.
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

// inOrder judges the rows of a bucket when those of an ID keep their order. All of them belong to the records of the push.
func (w *work[V]) inOrder(bucket int, readers []*indexReader, ix *indexWriter) error {
	pasts := map[[16]byte]*past{}
	err := w.spool.each(bucket, func(it item) error {
		if pasts[it.id()] == nil {
			pasts[it.id()] = &past{}
		}
		return nil
	})
	for _, r := range readers {
		if err == nil {
			err = r.each(bucket, func(it item, s state) {
				if p := pasts[it.id()]; p != nil {
					w.recallOf(p, r.push, it, s)
				}
			})
		}
	}
	if err == nil && w.before != nil {
		err = w.spool.each(bucket, func(it item) error {
			if p := pasts[it.id()]; p.now.n < p.before.n {
				p.now.add(it.content)
				p.taken = !p.other && p.now == p.before
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	return w.spool.each(bucket, func(it item) error {
		w.place(pasts[it.id()], it)
		if ix == nil {
			return nil
		}
		return ix.add(it)
	})
}

// recallOf notes what became of a record of another push.
func (w *work[V]) recallOf(p *past, of *push, it item, s state) {
	switch {
	case of == w.before:
		switch {
		case s == pending:
			p.open = true
		case p.open || p.doubt || s != accepted && s != duplicate && s != unknown && s != rejected:
			p.other = true // it has to be sent again from the first row on: the last one that was sent may be none of them
		default:
			p.before.add(it.content)
			p.doubt = s == unknown
			if s == rejected { // sent again, it would come after those that were sent after it
				p.refused = append(p.refused, refusal{p.before.n, of.words[int64(it.row)]})
			}
		}
	case of.head.Name == w.p.Name: // as it was before that
	case w.follows(of):
		p.blocked = p.blocked || of.newest && (s == pending || s == unknown)
	default:
		p.late = p.late || s != pending && s != conflict
	}
}

// follows tells whether the records of this file come after those of another one.
func (w *work[V]) follows(p *push) bool {
	if p.head.Order != w.p.Order || w.resumed == nil {
		return p.head.Order <= w.p.Order
	}
	return p.id < w.resumed.id
}

// place judges the next row of an ID.
func (w *work[V]) place(p *past, it item) {
	row := int64(it.row)
	if p.rows++; p.taken && p.rows <= p.before.n {
		now := duplicate
		switch {
		case p.doubt && p.rows == p.before.n:
			now = unknown
		case len(p.refused) > 0 && p.refused[0].n == p.rows:
			now, w.words[row] = rejected, p.refused[0].words
			p.refused = p.refused[1:]
		}
		w.states.set(row, now)
	}
	switch now := w.states.get(row); {
	case now == pending && p.late && !w.p.SendConflicts:
		w.states.set(row, conflict)
	case now == pending && p.blocked:
		w.states.set(row, waiting)
	case now&^doubt != pending && now&^doubt != unknown: // settled before
	case p.blocked, now&^doubt == unknown && w.p.ParkUnknown:
		w.stuck[it.id()] = struct{}{}
		p.blocked = true
	}
}
