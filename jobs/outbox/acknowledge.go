package outbox

import "github.com/reportferry/reportferry/jobs/outbox/store"

// takeBack gives the record of a delivery its prior state again, because it wasn't sent, or because
// the service surely didn't take it. A pending record that may have been sent before becomes one in
// doubt.
func (s *sender[V]) takeBack(d delivery[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.priorState == store.Pending && s.maybeSentBefore(d) {
		d.priorState = store.Unknown | store.Doubt
	}
	s.attempt.states.Set(d.row, d.priorState)
	s.unacknowledged--
}

// maybeSentBefore tells whether the service may have got the record already: in an earlier run, or
// by an earlier request of this delivery.
func (s *sender[V]) maybeSentBefore(d delivery[V]) bool {
	return s.attempt.states.Get(d.row)&store.Doubt != 0
}

// acknowledge stores what became of a delivery, which is then no longer in flight: now is the
// record's new state. r says why the service rejected the record, and is nil if it didn't.
func (s *sender[V]) acknowledge(d delivery[V], now store.State, r *Rejection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.maybeSentBefore(d) {
		now |= store.Doubt
	}
	s.attempt.states.Set(d.row, now)
	s.acknowledged = append(s.acknowledged, d.row)
	s.unacknowledged--
	if now&^store.Doubt != store.Unknown {
		s.doubtsInARow = 0
	} else if s.queues.ordered {
		s.attempt.markStuck(d)
	}
	switch {
	case now&^store.Doubt == store.Accepted && s.attempt.task.Tally != nil:
		key, amount := s.attempt.task.Tally(d.value)
		store.TallyUp(s.sums, key, amount)
	case now&^store.Doubt == store.Rejected:
		s.rejectedBecause[d.row] = store.Words(*r)
		if err := s.rejects.add(d.row, *r, d.cells); err != nil {
			s.failLocked(err)
		}
	}
	s.advance(d.queue)
	if s.allRead && s.queues.count == 0 && s.unacknowledged == 0 {
		s.readyCond.Broadcast()
	}
	s.signal()
}

// signal wakes the flusher when records wait to be released, and so few deliveries aren't
// acknowledged yet that a worker may soon be idle.
func (s *sender[V]) signal() {
	if len(s.queues.next) == 0 || s.unacknowledged > s.attempt.task.InFlight+s.ahead/2 {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
