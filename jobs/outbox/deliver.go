package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/reportferry/reportferry/internal/panics"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// deliver sends one record, and notes what became of it. It calls Send only once: Send itself
// repeats what may be repeated, and a record that is in doubt after that is left for a later run,
// or for a person.
func (s *sender[V]) deliver(ctx context.Context, l delivery[V]) {
	s.mu.Lock()
	over := s.err != nil || ctx.Err() != nil
	s.mu.Unlock()
	if over {
		s.undelivered(l)
		return
	}
	maybe, err := s.attempt(l)
	var r *Rejection
	switch {
	case err == nil:
		s.acknowledge(l, store.Accepted, nil)
	case errors.Is(err, ErrHad) && maybe:
		s.acknowledge(l, store.Accepted, nil)
	case errors.As(err, &r):
		if maybe {
			r = &Rejection{r.Field, r.Reason + "; an earlier answer was lost, and it may have been taken then"}
		}
		s.acknowledge(l, store.Rejected, r)
	case errors.Is(err, ErrRejected):
		s.acknowledge(l, store.Rejected, &Rejection{Reason: "refused by the service"})
	case errors.Is(err, jobs.ErrDenied), !errors.Is(err, ErrUnknown) &&
		(s.ctx.Err() == nil || errors.Is(err, ledger.ErrLost)):
		s.fail(err)
		s.undelivered(l)
	case s.work.p.ParkUnknown:
		s.acknowledge(l, store.Unknown, nil)
	default:
		s.giveUp(ctx, err)
		s.acknowledge(l, store.Unknown, nil)
	}
}

// mostDoubts is how many records in a row may be in doubt before the file is left for the next run.
const mostDoubts = 8

// giveUp notes that a record is in doubt. It stops the sending of further records when the process
// is being stopped, or after mostDoubts records in a row.
func (s *sender[V]) giveUp(ctx context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubtsInARow++
	s.lost = err
	switch {
	case ctx.Err() != nil:
		s.halted = true
	case s.doubtsInARow >= mostDoubts:
		s.failLocked(err)
	}
}

// attempt calls Send for a record. maybe tells whether the service may have taken it in an earlier
// request, of this run or another one.
func (s *sender[V]) attempt(l delivery[V]) (maybe bool, err error) {
	if err := May(s.ctx); err != nil {
		return false, err
	}
	var resent int
	err = panics.Caught("send a record", func() (err error) { resent, err = s.work.p.Send(s.ctx, l.value); return err })
	if panicked := new(panics.Error); errors.As(err, &panicked) {
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	s.resent += int64(resent)
	if s.again(l) {
		s.resent++
	}
	if resent > 0 {
		s.work.states.Set(l.row, s.work.states.Get(l.row)|store.Doubt)
	}
	return s.again(l), err
}
