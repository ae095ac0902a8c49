package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// A desk has the claims of one run. Units of this process share them: a page may be shorter than a cell of the grid of
// claims, so that several units need the same claim.
type desk struct {
	runner *Runner
	turn   chan struct{} // a mutex that testing/synctest sees as blocked
	shared map[string]*sharedClaim
	seen   map[string]*ledger.Claims // by table
}

type sharedClaim struct {
	turn  chan struct{} // held while the claim is taken or given back
	claim *ledger.Claim
	users int
}

func newDesk(r *Runner) *desk {
	return &desk{runner: r, turn: make(chan struct{}, 1), shared: map[string]*sharedClaim{}, seen: map[string]*ledger.Claims{}}
}

// take claims everything that a unit needs, or nothing. All processes claim in the same order, so that none waits for
// another.
func (d *desk) take(ctx context.Context, job Job, u Unit) (h ledger.Hold, release func() error, err error) {
	var back []func() error
	release = func() error {
		var errs []error
		for i := len(back) - 1; i >= 0; i-- {
			errs = append(errs, back[i]())
		}
		return errors.Join(errs...)
	}
	for _, name := range u.claims() {
		c, giveBack, err := d.takeOne(ctx, job, name)
		if err != nil {
			return nil, nil, errors.Join(err, release())
		}
		h, back = append(h, c), append(back, giveBack)
	}
	return h, release, nil
}

func (d *desk) takeOne(ctx context.Context, job Job, name string) (*ledger.Claim, func() error, error) {
	d.turn <- struct{}{}
	key := job.Table + "/" + name
	s := d.shared[key]
	if s == nil {
		s = &sharedClaim{turn: make(chan struct{}, 1)}
		d.shared[key] = s
	}
	claims := d.seen[job.Table]
	if claims == nil {
		claims = d.runner.Ledger.Claims(job.Table)
		d.seen[job.Table] = claims
	}
	<-d.turn
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if s.users == 0 {
		c, err := claims.Claim(ctx, name, d.runner.Run, d.runner.Lease)
		if err != nil {
			return nil, nil, err
		}
		s.claim = c
	}
	s.users++
	return s.claim, func() error { return s.giveBack(ctx, job.Table, name) }, nil
}

// giveBack releases the claim when no unit of this process uses it any more. A run that is being stopped releases it
// too, so that the next one needn't wait for the lease.
func (s *sharedClaim) giveBack(ctx context.Context, table, name string) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.users--; s.users > 0 {
		return nil
	}
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := s.claim.Release(release); err != nil {
		return fmt.Errorf("release %s/%s: %w", table, name, err)
	}
	return nil
}
