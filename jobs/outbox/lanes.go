package outbox

import (
	"context"

	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// lanes are the records that were read and aren't on record yet as what may be sent. With Order, an ID has one record
// beyond them at most: what comes after it waits until what became of it is on record, too.
type lanes[V any] struct {
	ordered bool
	kept    int64                      // how many there are
	next    []delivery[V]              // those that go on record next
	behind  map[[16]byte][]delivery[V] // the IDs that have a record in next or beyond, and what comes after it
}

// enter takes a record that was read, or notes it in the rejects when it isn't to be sent. It waits while there are too
// many: a slow ID holds up no others as long as they fit.
func (s *sender[V]) enter(ctx context.Context, l delivery[V]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.work.live(s.work.states.Get(l.row)) {
		return s.work.note(s.rejects, l, s.push.Words)
	}
	for s.lanes.kept >= int64(s.work.o.o.Window) && s.err == nil && ctx.Err() == nil {
		s.moved.Wait()
	}
	if s.err != nil {
		return s.err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	s.lanes.kept++
	if !s.lanes.ordered {
		s.lanes.next = append(s.lanes.next, l)
	} else if queue, busy := s.lanes.behind[l.id]; busy {
		s.lanes.behind[l.id] = append(queue, l)
	} else {
		s.lanes.behind[l.id] = []delivery[V]{l}
		s.advance(l.id)
	}
	s.signal()
	return nil
}

// advance lets the next record of an ID go on record, for the one before it is settled: in the same segment at the
// earliest. Behind one in doubt that isn't sent again, all others are left as they are.
func (s *sender[V]) advance(id [16]byte) {
	if !s.lanes.ordered {
		return
	}
	queue := s.lanes.behind[id]
	for _, stuck := s.work.stuck[id]; stuck && len(queue) > 0; queue = queue[1:] {
		s.skip(queue[0])
	}
	if len(queue) == 0 {
		delete(s.lanes.behind, id)
		return
	}
	s.lanes.next = append(s.lanes.next, queue[0])
	s.lanes.behind[id] = queue[1:]
}

// skip leaves a record that would come after one in doubt.
func (s *sender[V]) skip(l delivery[V]) {
	now := store.Waiting
	if s.work.states.Get(l.row).Maybe() {
		now = store.Unknown | store.Doubt
	}
	s.put(l.row, now)
	s.settled = append(s.settled, l.row)
	s.lanes.kept--
	s.moved.Broadcast()
}
