package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Renewal renews a lease three times within the lease's length. By this process's own clocks it
// knows whether the lease still lasts. It is safe for concurrent use.
type Renewal struct {
	ledger *Ledger
	name   string
	renew  func(context.Context) error

	mu      sync.Mutex
	renewed instant // when the last renewal that is known to have succeeded began

	ctx     context.Context         // ends with ErrLost when the lease does
	lose    context.CancelCauseFunc // ends ctx
	stop    context.CancelFunc      // makes keepAlive return
	stopped chan struct{}           // closed when keepAlive has returned; nil before Start
}

// NewRenewal returns the renewal of a lease that is about to be taken, whose length counts from
// now. renew writes the lease anew. If its error is ErrLost, another run has the lease; after any
// other error it is tried again.
func (l *Ledger) NewRenewal(ctx context.Context, name string, renew func(context.Context) error) *Renewal {
	r := &Renewal{ledger: l, name: name, renew: renew, renewed: l.instant(), stop: func() {}}
	r.ctx, r.lose = context.WithCancelCause(context.WithoutCancel(ctx))
	return r
}

// Start begins to renew the lease.
func (r *Renewal) Start() {
	beat, stop := context.WithCancel(r.ctx)
	r.stop, r.stopped = stop, make(chan struct{})
	go r.keepAlive(beat)
}

// Stop ends the renewing.
func (r *Renewal) Stop() {
	if r.stop(); r.stopped != nil {
		<-r.stopped
	}
}

// Lose ends the lease for this process, because another run has it, or it was given back.
func (r *Renewal) Lose(why error) { r.lose(why) }

// left returns how long the lease still lasts by this process's clocks. A tenth of its length is
// subtracted, because clocks drift apart.
func (r *Renewal) left() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	long := r.ledger.lease
	return long - long/10 - r.ledger.instant().since(r.renewed)
}

// keepAlive renews the lease until the context ends. It reads the clocks more often than it renews,
// because a timer stands still while the machine sleeps.
func (r *Renewal) keepAlive(ctx context.Context) {
	defer close(r.stopped)
	tick := time.NewTicker(r.ledger.lease / 3)
	defer tick.Stop()
	for {
		left := r.left()
		if left <= 0 {
			r.lose(fmt.Errorf("%s: the lease of %v ended before it could be renewed: %w", r.name, r.ledger.lease,
				ErrLost))
			return
		}
		check := time.NewTimer(min(left, r.ledger.lease/12))
		select {
		case <-ctx.Done():
			check.Stop()
			return
		case <-check.C:
		case <-tick.C:
			check.Stop()
			r.renewOnce(ctx)
		}
	}
}

// renewOnce renews the lease once. A failure does no harm until the lease expires. If another run
// has taken it over, it is lost at once, whatever the clocks say.
func (r *Renewal) renewOnce(ctx context.Context) {
	start, left := r.ledger.instant(), r.left()
	if left <= 0 {
		return // suspended for too long: another run may have the lease by now
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	switch err := r.renew(ctx); {
	case errors.Is(err, ErrLost):
		r.lose(err)
		return
	case err != nil || r.left() <= 0: // the machine may have slept while the swap was under way
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.renewed = start
}

// Leased returns nil while the lease lasts by this process's own clocks. It sends no request. By
// calling it, a process that was suspended notices the end of the lease before it acts, and not
// only when its timers fire.
func (r *Renewal) Leased() error {
	if cause := context.Cause(r.ctx); cause != nil {
		return cause
	}
	if r.left() <= 0 {
		return fmt.Errorf("%s: the lease of %v is over: %w", r.name, r.ledger.lease, ErrLost)
	}
	return nil
}

// Within returns a context that also ends when the lease does. It sends no request.
func (r *Renewal) Within(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := r.Leased(); err != nil {
		return nil, nil, err
	}
	within, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })
	return within, func() { unhook(); cancel(nil) }, nil
}

// An instant is a moment by two clocks: the wall clock, which people set, and the running time,
// which may stand still in sleep.
type instant struct {
	wall    time.Time
	running time.Duration
}

// instant returns the present moment.
func (l *Ledger) instant() instant {
	wall, running := l.clock()
	return instant{wall, running}
}

// since returns how much time has passed, by the clock that shows more. A process that
// overestimates it gives up a lease that it still has, which costs work; one that underestimates it
// would keep a lease that another process has by now.
func (i instant) since(earlier instant) time.Duration {
	return max(i.wall.Sub(earlier.wall), i.running-earlier.running)
}
