package outbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// grace is how long deliveries in flight may go on when the process is being stopped. The process
// has ten seconds, and the last segment is written after the grace.
const grace = 3 * time.Second

// A delivery is a record on its way: read, released, in flight until the service acknowledges it.
type delivery[V any] struct {
	row     int64
	queue   [16]byte // key of its queue: its ID, or the root of its group
	id      [16]byte
	also    [16]byte // zero: none
	value   V
	refusal *Rejection
	cells   []string
	was     store.State // its state before it was released
}

// send reads the file for the second time and sends what is pending.
func (w *attempt[V]) send(ctx context.Context) (err error) {
	leased, free, err := w.lease.Within(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	defer free()
	sending, stop := context.WithCancel(leased) // deliveries aren't cut short at once
	defer stop()
	unhook := context.AfterFunc(ctx, func() { time.AfterFunc(grace, stop) })
	defer unhook()

	s := newSender(w, sending)
	if n := w.states.Tally().Unknown; n > 0 && !w.p.ParkUnknown {
		w.o.o.Log.Warn("records that the service may have are sent again", "run", w.o.o.Run, "window", w.p.Name, "rows",
			n)
	}
	if s.rejects, err = w.newRejects(); err != nil {
		return err
	}
	defer s.rejects.drop()
	wake := context.AfterFunc(ctx, func() { s.change(func() {}) })
	defer wake()

	var workers, flusher sync.WaitGroup
	for range w.p.InFlight {
		workers.Go(func() {
			for l, more := s.take(ctx); more; l, more = s.take(ctx) {
				s.deliver(ctx, l)
			}
		})
	}
	over := make(chan struct{})
	flusher.Go(func() { s.keepFlushing(leased, over) })
	err = w.reread(ctx, func(l delivery[V]) error { return s.enter(ctx, l) })
	s.change(func() { s.ended = true })
	workers.Wait()
	close(over)
	flusher.Wait()
	w.report.Sent, w.report.Resent = s.sent, s.resent
	if err == nil {
		err = context.Cause(ctx) // the reading was over, and not all that was read was sent
	}
	if s.err != nil {
		err = s.err
	}
	if err == nil {
		err = s.finish(ctx)
	}
	if err != nil && leased.Err() == nil && !errors.Is(err, ledger.ErrLost) {
		last, done := context.WithTimeout(leased, 5*time.Second)
		defer done()
		err = errors.Join(err, s.leave(last))
	}
	return err
}
