package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// tries is how often a record in doubt is sent again before the file is left for the next run.
const tries = 8

// pause is full jitter over twice as long each time.
func pause(try int) time.Duration {
	return rand.N(min(50*time.Millisecond<<try, 5*time.Second))
}

// deliver sends one record until it is settled, or nothing more may be sent.
func (s *sender[V]) deliver(ctx context.Context, l letter[V]) {
	if !s.goOn(ctx) {
		s.undelivered(l)
		return
	}
	for try := 1; ; try++ {
		err := s.attempt(l)
		var r *Rejection
		switch {
		case err == nil:
			s.settle(l, accepted, nil)
			return
		case errors.As(err, &r):
			s.settle(l, rejected, r)
			return
		case errors.Is(err, ErrRejected):
			s.settle(l, rejected, &Rejection{Reason: "refused by the service"})
			return
		case errors.Is(err, jobs.ErrDenied), !errors.Is(err, ErrUnknown) && (s.ctx.Err() == nil || errors.Is(err, ledger.ErrLost)):
			s.fail(err)
			s.undelivered(l)
			return
		case s.work.p.ParkUnknown:
			s.settle(l, unknown, nil)
			return
		}
		s.mark(l)
		if try == tries && s.lanes.ordered && s.giveUp() {
			s.settle(l, unknown, nil)
			return
		}
		if try == tries {
			s.fail(fmt.Errorf("row %d was sent %d times: %w", l.row, tries, err))
		}
		if !s.goOn(ctx) || !sleep(ctx, s.work.o.pause(try)) {
			s.halt()
			s.settle(l, unknown, nil)
			return
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
