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
	kept    int64         // how many records there are in next and behind
	next    []delivery[V] // the records that the next segments release
	// For each ID, or group, with a record in next or in flight: the records after that one.
	behind map[[16]byte][]delivery[V]
}

// enter puts a record that was read into its queue, waiting while ReadAhead records are in the
// queues. When the record isn't to be sent, enter writes it to the rejects, if it belongs there.
func (s *sender[V]) enter(ctx context.Context, l delivery[V]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.work.live(s.work.states.Get(l.row)) {
		return s.work.note(s.rejects, l, s.push.Words)
	}
	for s.queues.kept >= int64(s.work.o.o.ReadAhead) && s.err == nil && ctx.Err() == nil {
		s.moved.Wait()
	}
	if s.err != nil {
		return s.err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	s.queues.kept++
	if !s.queues.ordered {
		s.queues.next = append(s.queues.next, l)
	} else if queue, busy := s.queues.behind[l.queue]; busy {
		s.queues.behind[l.queue] = append(queue, l)
	} else {
		s.queues.behind[l.queue] = []delivery[V]{l}
		s.advance(l.queue)
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
	for len(queue) > 0 && s.work.isStuck(queue[0]) {
		s.work.stick(queue[0])
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
func (w *attempt[V]) isStuck(l delivery[V]) bool {
	_, stuck := w.stuck[l.id]
	_, also := w.stuck[l.also]
	return stuck || also
}

// stick marks the IDs of a delivery, so that no later record of theirs is sent.
func (w *attempt[V]) stick(l delivery[V]) {
	w.stuck[l.id] = struct{}{}
	if l.also != [16]byte{} {
		w.stuck[l.also] = struct{}{}
	}
}

// skip leaves a record for a later run, because an earlier one of its ID is in doubt.
func (s *sender[V]) skip(l delivery[V]) {
	now := store.Waiting
	if s.work.states.Get(l.row).Maybe() {
		now = store.Unknown | store.Doubt
	}
	s.work.states.Set(l.row, now)
	s.acknowledged = append(s.acknowledged, l.row)
	s.queues.kept--
	s.moved.Broadcast()
}
