package outbox

import "sync"

// lanes keep the records of an ID one behind the other: a worker that has sent one goes on with the next.
type lanes[V any] struct {
	mu     sync.Mutex
	behind map[[16]byte][]letter[V] // the IDs that have a record on its way, and what comes after it
}

// enter tells whether the record may be sent now. Else it comes up when those before it are over. What waits is bounded
// by the window, for only records that are reserved come here.
func (x *lanes[V]) enter(l letter[V]) bool {
	if x == nil {
		return true
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	queue, busy := x.behind[l.id]
	if !busy {
		x.behind[l.id] = nil
		return true
	}
	x.behind[l.id] = append(queue, l)
	return false
}

// next gives the record that comes after one that is over.
func (x *lanes[V]) next(over letter[V]) (l letter[V], more bool) {
	if x == nil {
		return l, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	queue := x.behind[over.id]
	if len(queue) == 0 {
		delete(x.behind, over.id)
		return l, false
	}
	x.behind[over.id] = queue[1:]
	return queue[0], true
}

// skip leaves a record that would come after one in doubt.
func (s *sender[V]) skip(l letter[V]) bool {
	if s.lanes == nil {
		return false
	}
	s.mu.Lock()
	_, stuck := s.work.stuck[l.id]
	doubtful := s.inDoubt(l)
	switch {
	case stuck && !doubtful:
		s.put(l.row, waiting)
		s.settled = append(s.settled, l.row) // nothing holds its place in the window
		if int64(len(s.settled)) >= s.window/2 {
			s.signal()
		}
	case stuck:
		s.mu.Unlock()
		s.settle(l, unknown, nil)
		return true
	}
	s.mu.Unlock()
	return stuck
}

// mostGiven is how many records in a row may be given up before the file is left for the next run.
const mostGiven = 8

// giveUp tells whether the others are to be sent though one isn't settled.
func (s *sender[V]) giveUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given++
	return s.given < mostGiven
}
