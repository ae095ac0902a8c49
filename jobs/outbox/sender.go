package outbox

import (
	"cmp"
	"context"
	"sync"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// foldAbove is the least number of segments after which the next one is a whole segment, which has
// the states of all rows. A large file has more segments between two whole ones (flush), because
// its whole segments are larger.
const foldAbove = 64

// mostAhead limits how many deliveries are released beyond those in flight, as a multiple of
// InFlight. They keep the workers busy while the next segment is written.
const mostAhead = 7

// A sender is what the goroutines of one sending share: the reader, the workers, and the flusher,
// which writes segments.
//
//	reader ─ queues.next ─ flusher: a segment says that it may have been sent ─ ready ─ worker: Send ─ acknowledged ─ flusher
//
// A kill leaves in doubt the deliveries that one segment has released and no later one has recorded
// as acknowledged: never more than eight times InFlight, and little more than InFlight itself when
// the ledger is quicker than the service.
type sender[V any] struct {
	attempt *attempt[V]
	push    *store.Push
	ctx     context.Context // the context that Send gets
	rejects *rejects
	wake    chan struct{} // wakes the flusher

	wroteWhole bool // this run has written a whole segment

	mu        sync.Mutex // guards all that follows, and the states of attempt
	roomCond  *sync.Cond // there is room in the queues
	readyCond *sync.Cond // there is something to send, or there never will be
	queues    queues[V]
	ready     []delivery[V] // released by a written segment, and waiting for a worker
	// unacknowledged counts the deliveries that aren't acknowledged, and that a segment has
	// released or is about to release.
	unacknowledged int
	ahead          int     // how far unacknowledged may exceed InFlight
	allRead        bool    // the whole file has been read
	err            error   // the first error; after it, nothing more is sent
	halted         bool    // nothing more is released, because the process is being stopped
	acknowledged   []int64 // rows acknowledged since the last segment
	// rejectedBecause has why the service rejected rows, and sums has the sums of accepted records,
	// both since the last segment.
	rejectedBecause map[int64]store.Words
	sums            map[string]store.Sum
	sent            int64 // see Report.Sent
	resent          int64 // see Report.Resent
	doubtsInARow    int   // how many records in a row are in doubt
	lastDoubt       error // the error of the last record in doubt
}

// newSender returns the sender of a push. ctx is the context that Send gets.
func newSender[V any](w *attempt[V], ctx context.Context) *sender[V] {
	s := &sender[V]{
		attempt: w, push: w.push, ctx: ctx, wake: make(chan struct{}, 1), ahead: max(1, w.task.InFlight/2),
		queues: queues[V]{ordered: w.task.Order != "", behind: map[[16]byte][]delivery[V]{}},

		rejectedBecause: map[int64]store.Words{}, sums: map[string]store.Sum{},
	}
	s.roomCond, s.readyCond = sync.NewCond(&s.mu), sync.NewCond(&s.mu)
	return s
}

// release takes records from the queue for the next segment to release, and sets their states: as
// many as are allowed beside the deliveries that aren't acknowledged yet.
func (s *sender[V]) release() (released []delivery[V]) {
	if s.err != nil || s.halted {
		return nil
	}
	n := min(len(s.queues.next), s.attempt.task.InFlight+s.ahead-s.unacknowledged)
	if n <= 0 {
		return nil
	}
	released, s.queues.next = s.queues.next[:n:n], s.queues.next[n:]
	for i := range released {
		d := &released[i]
		d.priorState = s.attempt.states.Get(d.row)
		now := store.Unknown
		if d.priorState.Maybe() {
			now |= store.Doubt
		}
		s.attempt.states.Set(d.row, now)
	}
	s.unacknowledged += n
	s.queues.count -= int64(n)
	s.roomCond.Broadcast()
	return released
}

// handOut gives the workers the deliveries that a segment has released.
func (s *sender[V]) handOut(released []delivery[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = append(s.ready, released...)
	// s.acknowledged has what was acknowledged while the segment was written. With twice as many
	// records ahead, no worker has to wait for the next segment.
	s.ahead = min(max(2*len(s.acknowledged), 1, s.attempt.task.InFlight/2), mostAhead*s.attempt.task.InFlight)
	s.readyCond.Broadcast()
	s.signal()
}

// take waits for the next delivery to send. more is false when all are acknowledged, or when
// nothing more is to be sent.
func (s *sender[V]) take(ctx context.Context) (d delivery[V], more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ready) == 0 {
		if s.err != nil || ctx.Err() != nil || s.allRead && s.queues.count == 0 && s.unacknowledged == 0 {
			return d, false
		}
		s.readyCond.Wait()
	}
	d, s.ready = s.ready[0], s.ready[1:]
	return d, true
}

// change calls do under the lock, and wakes all goroutines that wait for a change.
func (s *sender[V]) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
	s.roomCond.Broadcast()
	s.readyCond.Broadcast()
}

// fail stops the sending because of an error.
func (s *sender[V]) fail(err error) { s.change(func() { s.err = cmp.Or(s.err, err) }) }

// failLocked does the same as fail, with s.mu held by the caller.
func (s *sender[V]) failLocked(err error) {
	s.err = cmp.Or(s.err, err)
	s.roomCond.Broadcast()
	s.readyCond.Broadcast()
}
