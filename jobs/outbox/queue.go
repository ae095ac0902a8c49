package outbox

import (
	"context"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// queues holds the records that were read and that no segment has released yet. With Order, an ID
// has at most one delivery at a time: its next record is released by the segment that says what
// became of the one before it.
type queues[V any] struct {
	ordered bool
	count   int64         // how many records there are in next and behind
	next    []delivery[V] // the records that the next segments release
	// behind has, for each ID or group with a record in next or in flight, the records after that
	// one. The key is delivery.queue.
	behind map[[16]byte][]delivery[V]
}

// enqueue puts a record that was read into its queue, waiting while ReadAhead records are in the
// queues. When the record isn't to be sent, enqueue writes it to the rejects, if it belongs there.
func (s *sender[V]) enqueue(ctx context.Context, d delivery[V]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.attempt.toSend(s.attempt.states.Get(d.row)) {
		return s.attempt.addReject(s.rejects, d, s.push.Words)
	}
	for s.queues.count >= int64(s.attempt.outbox.options.ReadAhead) && s.err == nil && ctx.Err() == nil {
		s.roomCond.Wait()
	}
	if s.err != nil {
		return s.err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	s.queues.count++
	if !s.queues.ordered {
		s.queues.next = append(s.queues.next, d)
	} else if queue, busy := s.queues.behind[d.queue]; busy {
		s.queues.behind[d.queue] = append(queue, d)
	} else {
		s.queues.behind[d.queue] = []delivery[V]{d}
		s.advance(d.queue)
	}
	s.signal()
	return nil
}

// advance moves the first record of a queue to next, so that the next segment releases it. The same
// segment says what became of the record before it. Records that can't be sent because an earlier
// one of their IDs is in doubt are skipped.
func (s *sender[V]) advance(key [16]byte) {
	if !s.queues.ordered {
		return
	}
	queue := s.queues.behind[key]
	for len(queue) > 0 && s.attempt.isStuck(queue[0]) {
		s.attempt.markStuck(queue[0])
		s.skip(queue[0])
		queue = queue[1:]
	}
	if len(queue) == 0 {
		delete(s.queues.behind, key)
		return
	}
	s.queues.next = append(s.queues.next, queue[0])
	s.queues.behind[key] = queue[1:]
}

// isStuck tells whether a delivery can't be sent because an earlier record of one of its IDs is in
// doubt and isn't sent again.
func (w *attempt[V]) isStuck(d delivery[V]) bool {
	_, stuck := w.stuck[d.id]
	_, also := w.stuck[d.also]
	return stuck || also
}

// markStuck marks the IDs of a delivery, so that no later record of theirs is sent.
func (w *attempt[V]) markStuck(d delivery[V]) {
	w.stuck[d.id] = struct{}{}
	if d.also != [16]byte{} {
		w.stuck[d.also] = struct{}{}
	}
}

// skip leaves a record for a later run, because an earlier one of its ID is in doubt.
func (s *sender[V]) skip(d delivery[V]) {
	now := store.Waiting
	if s.attempt.states.Get(d.row).Maybe() {
		now = store.Unknown | store.Doubt
	}
	s.attempt.states.Set(d.row, now)
	s.acknowledged = append(s.acknowledged, d.row)
	s.queues.count--
	s.roomCond.Broadcast()
}
