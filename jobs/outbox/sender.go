package outbox

import (
	"cmp"
	"context"
	"sync"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// foldAbove is how many segments follow one that says all, at least, before the next that says all.
// Of a large file there are more, because such a segment is larger.
const foldAbove = 64

// mostAhead bounds the deliveries that a segment lets go beyond those in flight, as a multiple of
// InFlight. They keep the workers busy while the next segment is written.
const mostAhead = 7

// A sender is what the goroutines of one sending share: the reader, the workers, and the flusher,
// which writes segments.
//
//	reader ─ queues.next ─ flusher: a segment says that it may have been sent ─ ready ─ worker: Send ─ acknowledged ─ flusher
//
// A kill leaves in doubt the deliveries that a segment has released and none has acknowledged:
// never more than eight times InFlight, and little more than InFlight itself when the ledger is
// quicker than the service.
type sender[V any] struct {
	work    *attempt[V]
	push    *store.Push
	ctx     context.Context // of Send
	rejects *rejects
	wake    chan struct{} // of the flusher

	begun  bool // a segment of this run says all
	mu     sync.Mutex
	moved  *sync.Cond // there is room in the queues
	handed *sync.Cond // there is something to send, or nothing will be
	queues queues[V]
	ready  []delivery[V] // to be sent; a segment that is on record says that they may have been
	// Deliveries: released by a segment, or by one that is being written, and not acknowledged.
	live         int
	ahead        int     // how many deliveries there may be beyond InFlight
	ended        bool    // all was read
	err          error   // the first one; after it nothing more is sent
	halted       bool    // nothing more is released, because the process is being stopped
	acknowledged []int64 // rows, since the last segment
	words        map[int64]store.Words
	sums         map[string]store.Sum
	sent         int64
	resent       int64
	given        int   // records in a row that are in doubt
	lost         error // what was said of the last of them
}

func newSender[V any](w *attempt[V], ctx context.Context) *sender[V] {
	s := &sender[V]{
		work: w, push: w.push, ctx: ctx, wake: make(chan struct{}, 1), ahead: max(1, w.p.InFlight/2),
		queues: queues[V]{ordered: w.p.Order != "", behind: map[[16]byte][]delivery[V]{}},
		words:  map[int64]store.Words{}, sums: map[string]store.Sum{},
	}
	s.moved, s.handed = sync.NewCond(&s.mu), sync.NewCond(&s.mu)
	return s
}

// release takes the records that the next segment lets be sent: as many as fit beside the
// deliveries that aren't acknowledged.
func (s *sender[V]) release() (gone []delivery[V]) {
	if s.err != nil || s.halted {
		return nil
	}
	n := min(len(s.queues.next), s.work.p.InFlight+s.ahead-s.live)
	if n <= 0 {
		return nil
	}
	gone, s.queues.next = s.queues.next[:n:n], s.queues.next[n:]
	for i := range gone {
		l := &gone[i]
		l.was = s.work.states.Get(l.row)
		now := store.Unknown
		if l.was.Maybe() {
			now |= store.Doubt
		}
		s.work.states.Set(l.row, now)
	}
	s.live += n
	s.queues.kept -= int64(n)
	s.moved.Broadcast()
	return gone
}

// hand gives the workers the deliveries that a segment has released.
func (s *sender[V]) hand(gone []delivery[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = append(s.ready, gone...)
	// So many were acknowledged while the segment was written. With twice as many ahead no worker
	// waits for the next one.
	s.ahead = min(max(2*len(s.acknowledged), 1, s.work.p.InFlight/2), mostAhead*s.work.p.InFlight)
	s.handed.Broadcast()
	s.signal()
}

// take waits for a delivery. There is none when all are acknowledged, and when nothing more is
// sent.
func (s *sender[V]) take(ctx context.Context) (l delivery[V], more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ready) == 0 {
		if s.err != nil || ctx.Err() != nil || s.ended && s.queues.kept == 0 && s.live == 0 {
			return l, false
		}
		s.handed.Wait()
	}
	l, s.ready = s.ready[0], s.ready[1:]
	return l, true
}

// change changes something that others wait for.
func (s *sender[V]) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
	s.moved.Broadcast()
	s.handed.Broadcast()
}

// fail has nothing more sent because of an error.
func (s *sender[V]) fail(err error) { s.change(func() { s.err = cmp.Or(s.err, err) }) }

func (s *sender[V]) failLocked(err error) {
	s.err = cmp.Or(s.err, err)
	s.moved.Broadcast()
	s.handed.Broadcast()
}
