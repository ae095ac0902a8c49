package outbox

import (
	"context"
	"errors"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// UnitName is the name of the unit that pushes a table's files.
const UnitName = store.UnitName

// A Lease is the right to push the files of a table.
type Lease = store.Lease

// leaseKey is the key under which Hold puts the lease into a context.
type leaseKey struct{}

// May checks that the lease under which ctx was made by Hold still lasts. The error says that it is
// lost; for any other ctx, there is none. Send calls May right before it sends a record, because
// the record may have waited for the limiter, or the machine may have been suspended.
func May(ctx context.Context) error {
	if l, is := ctx.Value(leaseKey{}).(*Lease); is {
		return l.Leased()
	}
	return nil
}

// Hold calls do while it holds the lease of the table. The context of do ends when the lease is
// lost. When another process has the lease, the error is a *ledger.HeldError.
func (o *Outbox) Hold(ctx context.Context, do func(context.Context, *Lease) error) (err error) {
	l, err := o.table.Take(ctx, o.options.Run)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Release(ctx)) }()
	within, free, err := l.Within(context.WithValue(ctx, leaseKey{}, l))
	if err != nil {
		return err
	}
	defer free()
	if err = do(within, l); err != nil && errors.Is(context.Cause(within), ledger.ErrLost) {
		err = errors.Join(context.Cause(within), err)
	}
	return err
}

// Tables returns the tables of a ledger that files were pushed for.
func Tables(ctx context.Context, l *ledger.Ledger) ([]string, error) { return store.Tables(ctx, l) }
