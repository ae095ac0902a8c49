package outbox

import "fmt"

// undelivered takes back a record that wasn't sent, or that the service surely didn't take. What it did with it in an earlier
// run, or after an earlier attempt, stays in doubt.
func (s *sender[V]) undelivered(l letter[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.was == pending && s.again(l) {
		l.was = unknown | doubt
	}
	s.put(l.row, l.was)
	s.live--
}

// again tells whether the service may have had the record before it is sent now.
func (s *sender[V]) again(l letter[V]) bool { return s.work.states.get(l.row)&doubt != 0 }

func (s *sender[V]) put(row int64, now state) {
	before := s.work.states.get(row)
	s.counts.move(before, -1)
	s.counts.move(now, 1)
	s.work.states.set(row, now)
}

// settle says what became of a record.
func (s *sender[V]) settle(l letter[V], now state, r *Rejection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.again(l) {
		now |= doubt
	}
	s.put(l.row, now)
	s.settled = append(s.settled, l.row)
	s.live--
	if now&^doubt != unknown {
		s.given = 0
	} else if s.lanes.ordered {
		s.work.stuck[l.id] = struct{}{}
	}
	switch {
	case now&^doubt == accepted && s.work.p.Tally != nil:
		key, amount := s.work.p.Tally(l.value)
		tallyUp(s.sums, key, amount)
	case now&^doubt == rejected:
		s.words[l.row] = Words(*r)
		if err := s.rejects.add(l.row, *r, l.cells); err != nil {
			s.failLocked(err)
		}
		if err := s.work.p.MaxRejects.exceeded(s.counts.rejects(), s.push.head.Rows); err != nil {
			s.failLocked(fmt.Errorf("%w; the last one is row %d: %w", err, l.row, r))
		}
	}
	s.advance(l.id)
	if s.ended && s.lanes.kept == 0 && s.live == 0 {
		s.handed.Broadcast()
	}
	s.signal()
}

// signal wakes the flusher when enough was settled for the next group, or so little is left to send that a worker may be idle.
func (s *sender[V]) signal() {
	if len(s.lanes.next) == 0 || s.live > s.work.p.InFlight+s.ahead/2 {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
