package outbox

import "github.com/reportferry/reportferry/jobs/outbox/store"

// undelivered takes back a delivery that wasn't sent, or that the service surely didn't take. What
// the service did with the record in an earlier run, or after an earlier attempt, stays in doubt.
func (s *sender[V]) undelivered(l delivery[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.was == store.Pending && s.again(l) {
		l.was = store.Unknown | store.Doubt
	}
	s.work.states.Set(l.row, l.was)
	s.live--
}

// again tells whether the service may have had the record before this delivery.
func (s *sender[V]) again(l delivery[V]) bool { return s.work.states.Get(l.row)&store.Doubt != 0 }

// acknowledge notes what became of a delivery, which is then no longer in flight. r says why the
// service rejected the record, and is nil if it didn't.
func (s *sender[V]) acknowledge(l delivery[V], now store.State, r *Rejection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.again(l) {
		now |= store.Doubt
	}
	s.work.states.Set(l.row, now)
	s.acknowledged = append(s.acknowledged, l.row)
	s.live--
	if now&^store.Doubt != store.Unknown {
		s.doubtsInARow = 0
	} else if s.queues.ordered {
		s.work.stick(l)
	}
	switch {
	case now&^store.Doubt == store.Accepted && s.work.p.Tally != nil:
		key, amount := s.work.p.Tally(l.value)
		store.TallyUp(s.sums, key, amount)
	case now&^store.Doubt == store.Rejected:
		s.words[l.row] = store.Words(*r)
		if err := s.rejects.add(l.row, *r, l.cells); err != nil {
			s.failLocked(err)
		}
	}
	s.advance(l.queue)
	if s.ended && s.queues.kept == 0 && s.live == 0 {
		s.handed.Broadcast()
	}
	s.signal()
}

// signal wakes the flusher when records wait to be released, and so few deliveries are unfinished
// that a worker may soon be idle.
func (s *sender[V]) signal() {
	if len(s.queues.next) == 0 || s.live > s.work.p.InFlight+s.ahead/2 {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
