package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// ClaimName is the name of the one claim that a table is pushed under, and of the unit that does it.
const ClaimName = "push"

// Folder is the name of a table's folder in the ledger that what was pushed is in.
const Folder = store.Folder

// A hold is the right to push.
type hold struct {
	ctx   context.Context // ends with the caller's, and with the lease
	lease context.Context // ends with the lease alone
	free  func()
}

// May returns an error when the push that gave ctx has lost its claim, and nil for any ctx that no push gave. Send calls it
// right before a record goes out: the record may have waited for the limiter, or the machine may have been suspended.
func May(ctx context.Context) error { return store.StillClaimed(ctx) }

// under gives the right to push for as long as the claim lasts.
func under(ctx context.Context, claim *ledger.Claim) (h hold, err error) {
	ctx = store.WithClaim(ctx, claim)
	lease, free, err := claim.Guard(context.WithoutCancel(ctx))
	if err != nil {
		return h, err
	}
	held, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(lease, func() { cancel(context.Cause(lease)) })
	return hold{held, lease, func() {
		unhook()
		cancel(nil)
		free()
	}}, nil
}

// claimed does something under a claim of its own. When another process has it, the error is a *ledger.HeldError.
func (o *Outbox) claimed(ctx context.Context, do func(*ledger.Claim) error) (err error) {
	claim, err := o.o.Ledger.Claim(ctx, o.o.Table, ClaimName, o.o.Run, o.o.Lease)
	if err != nil {
		return err
	}
	defer func() {
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if failed := claim.Release(release); failed != nil && err == nil {
			err = fmt.Errorf("release the claim on pushing %s: %w", o.o.Table, failed)
		}
	}()
	return do(claim)
}
