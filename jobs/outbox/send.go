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
	row        int64
	queue      [16]byte // key of its queue: its ID, or the root of its group
	id         [16]byte
	also       [16]byte // see Record.Also; zero: none
	value      V
	refusal    *Rejection // why the kind of job refuses it; nil: it doesn't
	cells      []string
	priorState store.State // its state before it was released
}

// send reads the file for the second time and sends what is pending.
func (w *attempt[V]) send(ctx context.Context) (err error) {
	// The contexts: leased ends with the lease, sending also ends some time after ctx has.
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
	if n := w.states.Tally().Unknown; n > 0 && !w.task.ParkUnknown {
		w.outbox.options.Log.Warn("records that the service may have are sent again", "run", w.outbox.options.Run,
			"window", w.task.Name, "rows", n)
	}
	if s.rejects, err = w.newRejects(); err != nil {
		return err
	}
	defer s.rejects.drop()
	wake := context.AfterFunc(ctx, func() { s.change(func() {}) })
	defer wake()

	// Start the workers and the flusher, read the file, and wait until all is acknowledged.
	var workers, flusher sync.WaitGroup
	for range w.task.InFlight {
		workers.Go(func() {
			for d, more := s.take(ctx); more; d, more = s.take(ctx) {
				s.deliver(ctx, d)
			}
		})
	}
	over := make(chan struct{})
	flusher.Go(func() { s.keepFlushing(leased, over) })
	err = w.reread(ctx, func(d delivery[V]) error { return s.enqueue(ctx, d) })
	s.change(func() { s.allRead = true })
	workers.Wait()
	close(over)
	flusher.Wait()

	// End the push, or write what is known and leave it open for a later run.
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
		err = errors.Join(err, s.leaveOpen(last))
	}
	return err
}
