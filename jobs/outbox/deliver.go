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

// deliver sends one record, and records what became of it. It calls Send only once: Send itself
// repeats what may be repeated, and a record that is in doubt after that is left for a later run,
// or for a person.
func (s *sender[V]) deliver(ctx context.Context, d delivery[V]) {
	s.mu.Lock()
	over := s.err != nil || ctx.Err() != nil
	s.mu.Unlock()
	if over {
		s.takeBack(d)
		return
	}
	maybe, err := s.callSend(d)
	var r *Rejection
	switch {
	case err == nil:
		s.acknowledge(d, store.Accepted, nil)
	case errors.Is(err, ErrAlreadyTaken) && maybe:
		s.acknowledge(d, store.Accepted, nil)
	case errors.As(err, &r):
		if maybe {
			r = &Rejection{r.Field, r.Reason + "; an earlier answer was lost, and it may have been taken then"}
		}
		s.acknowledge(d, store.Rejected, r)
	case errors.Is(err, ErrRejected):
		s.acknowledge(d, store.Rejected, &Rejection{Reason: "refused by the service"})
	case errors.Is(err, jobs.ErrDenied), !errors.Is(err, ErrUnknown) &&
		(s.ctx.Err() == nil || errors.Is(err, ledger.ErrLost)):
		s.fail(err)
		s.takeBack(d)
	case s.attempt.task.ParkUnknown:
		s.acknowledge(d, store.Unknown, nil)
	default:
		s.giveUp(ctx, err)
		s.acknowledge(d, store.Unknown, nil)
	}
}

// mostDoubts is how many records in a row may be in doubt before the file is left for the next run.
const mostDoubts = 8

// giveUp counts a record that is in doubt because of err. It stops the sending of further records
// when the process is being stopped, or after mostDoubts records in a row.
func (s *sender[V]) giveUp(ctx context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubtsInARow++
	s.lastDoubt = err
	switch {
	case ctx.Err() != nil:
		s.halted = true
	case s.doubtsInARow >= mostDoubts:
		s.failLocked(err)
	}
}

// callSend calls Send for a record. maybe tells whether the service may have taken the record in an
// earlier request, of this run or another one.
func (s *sender[V]) callSend(d delivery[V]) (maybe bool, err error) {
	if err := May(s.ctx); err != nil {
		return false, err
	}
	var resent int
	err = panics.Caught("send a record", func() (err error) {
		resent, err = s.attempt.task.Send(s.ctx, d.value)
		return err
	})
	if panicked := new(panics.Error); errors.As(err, &panicked) {
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	s.resent += int64(resent)
	if s.maybeSentBefore(d) {
		s.resent++
	}
	if resent > 0 {
		s.attempt.states.Set(d.row, s.attempt.states.Get(d.row)|store.Doubt)
	}
	return s.maybeSentBefore(d), err
}
