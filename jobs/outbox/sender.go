package outbox

import (
	"context"
	"fmt"
	"sync"
)

// foldAbove is how many segments add to a whole one before the next whole one.
const foldAbove = 256

// A sender is what the goroutines of one sending share. The rule that bounds what a kill leaves unknown: a row is sent
// only when a segment that is written has reserved it, and at most window rows are reserved and not settled on record.
type sender[V any] struct {
	work    *work[V]
	push    *push
	ctx     context.Context // of Send
	rejects *rejects
	window  int64
	lanes   *lanes[V] // nil: without Order
	wake    chan struct{}

	mu       sync.Mutex
	moved    *sync.Cond // reserved, err
	err      error      // the first; nothing more is sent then
	halted   bool       // without an error: the push is being stopped
	reserved int64      // rows up to this one may be sent
	booked   int64      // of them, those that aren't settled on record
	settled  []int64    // rows, since the last segment
	words    map[int64]Rejection
	sums     map[string]Sum
	counts   counts
	sent     int64
	resent   int64
	given    int // records in a row that were given up
}

func newSender[V any](w *work[V], p *push, ctx context.Context) *sender[V] {
	s := &sender[V]{
		work: w, push: p, ctx: ctx, wake: make(chan struct{}, 1),
		// With a quarter in flight at most, half of a window is always settled before the other half is used up.
		window: int64(max(w.o.o.Window, 4*w.p.InFlight)),
		counts: w.states.tally(), words: map[int64]Rejection{}, sums: map[string]Sum{},
	}
	s.moved = sync.NewCond(&s.mu)
	if w.p.Order != "" {
		s.lanes = &lanes[V]{behind: map[[16]byte][]letter[V]{}}
	}
	return s
}

// begin puts the push on record and reserves the first rows.
func (s *sender[V]) begin(ctx context.Context) error {
	s.reserved, s.booked = s.reserve(0)
	s.push.reserved = s.reserved
	if n := s.counts.Unknown; n > 0 && !s.work.p.ParkUnknown {
		s.work.o.o.Log.Warn("records that the service may have are sent again", "run", s.work.o.o.Run, "window", s.push.head.Name, "rows", n)
	}
	return s.work.o.append(ctx, s.push, s.push.whole(s.work.o.o.Run))
}

// reserve gives the row up to which pending rows fill the window, of which n are taken.
func (s *sender[V]) reserve(n int64) (row, booked int64) {
	states := s.work.states
	row = s.reserved
	for n < s.window && row < states.rows {
		row++
		if s.work.live(states.get(row)) {
			n++
		}
	}
	return row, n
}

// may waits until a record may be sent. One that isn't to be sent at all is noted if it was rejected.
func (s *sender[V]) may(ctx context.Context, l letter[V]) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.work.live(s.work.states.get(l.row)) {
		return false, s.work.note(s.rejects, l, s.push.words)
	}
	for s.reserved < l.row && s.err == nil && ctx.Err() == nil {
		s.moved.Wait()
	}
	if s.err != nil {
		return false, s.err
	}
	return true, context.Cause(ctx)
}

func (s *sender[V]) broadcast() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved.Broadcast()
}

func (s *sender[V]) goOn(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err == nil && ctx.Err() == nil
}

// halt says that nothing more is sent.
func (s *sender[V]) halt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.halted = true
}

func (s *sender[V]) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failLocked(err)
}

func (s *sender[V]) failLocked(err error) {
	if s.err == nil {
		s.err = err
	}
	s.moved.Broadcast()
}

// attempt sends a record once.
func (s *sender[V]) attempt(l letter[V]) error {
	s.mu.Lock()
	s.sent++
	if s.inDoubt(l) {
		s.resent++
	}
	s.mu.Unlock()
	return s.work.p.Send(s.ctx, l.value)
}

// mark says that the service may have a record that is being sent again.
func (s *sender[V]) mark(l letter[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(l.row, s.work.states.get(l.row)|doubt)
}

// undelivered takes back a record that the service surely didn't take; what it did with it before stays in doubt.
func (s *sender[V]) undelivered(l letter[V]) {
	s.mu.Lock()
	again := s.inDoubt(l)
	s.mu.Unlock()
	if again {
		s.settle(l, unknown, nil)
	}
}

// inDoubt tells whether the service may have the record already.
func (s *sender[V]) inDoubt(l letter[V]) bool {
	now := s.work.states.get(l.row)
	return now&doubt != 0 || now == unknown
}

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
	if s.inDoubt(l) {
		now |= doubt
	}
	s.put(l.row, now)
	s.settled = append(s.settled, l.row)
	if now&^doubt == unknown && s.lanes != nil {
		s.work.stuck[l.id] = struct{}{}
	} else {
		s.given = 0
	}
	switch {
	case now&^doubt == accepted && s.work.p.Tally != nil:
		key, amount := s.work.p.Tally(l.value)
		tallyUp(s.sums, key, amount)
	case now&^doubt == rejected:
		s.words[l.row] = *r
		if err := s.rejects.add(l.row, *r, l.cells); err != nil {
			s.failLocked(err)
		}
		if err := s.work.p.MaxRejects.exceeded(s.counts.rejects(), s.push.head.Rows); err != nil {
			s.failLocked(fmt.Errorf("%w; the last one is row %d: %w", err, l.row, r))
		}
	}
	if int64(len(s.settled)) >= s.window/2 {
		s.signal()
	}
}

func (s *sender[V]) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
