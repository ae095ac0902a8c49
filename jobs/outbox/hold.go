package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// A hold is the right to push.
type hold struct {
	ctx     context.Context // ends with the caller's, and with the lease
	lease   context.Context // ends with the lease alone
	release func() error
}

type claimKey struct{}

// claimOf is the claim that a hold's contexts carry, for whatever is about to act on it.
func claimOf(ctx context.Context) *ledger.Claim {
	c, _ := ctx.Value(claimKey{}).(*ledger.Claim)
	return c
}

// May tells, by a nil error, that the push which ctx was given by still has its claim. Send asks it as late as it can: a
// record may wait for a limiter, and the machine be suspended meanwhile. Of any other ctx it knows nothing against.
func May(ctx context.Context) error {
	if c := claimOf(ctx); c != nil {
		return c.Leased()
	}
	return nil
}

// hold waits for other pushes of this process, and takes the claim. When another process has it, the error is a
// *jobs.HeldError.
func (o *Outbox) hold(ctx context.Context) (h hold, err error) {
	select {
	case o.turn <- struct{}{}:
	case <-ctx.Done():
		return h, ctx.Err()
	}
	defer func() {
		if err != nil {
			<-o.turn
		}
	}()
	claim, err := o.o.Ledger.Claim(ctx, o.o.Table, "push", o.o.Run, o.o.Lease)
	if err != nil {
		return h, err
	}
	ctx = context.WithValue(ctx, claimKey{}, claim)
	giveBack := func() error {
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := claim.Release(release); err != nil {
			return fmt.Errorf("release the claim on pushing %s: %w", o.o.Table, err)
		}
		return nil
	}
	lease, free, err := claim.Guard(context.WithoutCancel(ctx))
	if err != nil {
		_ = giveBack() // err says why
		return h, err
	}
	held, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(lease, func() { cancel(context.Cause(lease)) })
	return hold{held, lease, func() error {
		unhook()
		cancel(nil)
		free()
		err := giveBack()
		<-o.turn
		return err
	}}, nil
}
