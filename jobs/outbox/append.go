package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// append writes the next segment of a push. Only the holder of the claim, which ctx carries, does; when another one has
// gone on meanwhile, the error is ledger.ErrLost.
func (o *Outbox) append(ctx context.Context, p *push, s segment) error {
	if err := May(ctx); err != nil {
		return err
	}
	n := p.last + 1
	s.Base, s.Writer, s.At = p.base, rand.Text(), time.Now().UTC()
	if s.Head != nil {
		s.Base = n
	}
	if err := o.again(ctx, func() error { return o.create(ctx, p, n, s) }); err != nil {
		return err
	}
	dropped := p.base
	p.last, p.base = n, s.Base
	if err := o.again(ctx, func() error { return o.alone(ctx, p, n) }); err != nil {
		return err
	}
	if s.Head != nil && dropped > 0 {
		o.sweep(ctx, p, dropped)
	}
	return nil
}

// again asks a store that fails three times at most.
func (o *Outbox) again(ctx context.Context, do func() error) (err error) {
	for try := range 3 {
		if try > 0 {
			select {
			case <-time.After(250 * time.Millisecond << (2*try - 2)):
			case <-ctx.Done():
				return err
			}
		}
		if err = do(); err == nil || errors.Is(err, ledger.ErrLost) {
			return err
		}
	}
	return err
}

// create writes segment n, which mustn't be there unless it is this very one.
func (o *Outbox) create(ctx context.Context, p *push, n int, s segment) error {
	created, err := o.folder.Create(ctx, p.key(n), s)
	if err == nil && !created {
		err = o.outrun(p, n)
	}
	return err
}

// alone looks again once segment n was created: another process may have gone past it, or taken the claim over.
func (o *Outbox) alone(ctx context.Context, p *push, n int) error {
	holds, err := o.folder.Holds(ctx, claimOf(ctx), p.id+"/", n)
	if err == nil && !holds {
		err = o.outrun(p, n)
	}
	return err
}

func (o *Outbox) outrun(p *push, n int) error {
	return fmt.Errorf("%s is there already: another process has gone on with %s: %w", o.folder.Location(p.key(n)), p.head.Name, ledger.ErrLost)
}

// sweep drops the segments before the last whole one, the last of them first, so that what stays of a sweep that is cut
// short is what the next one begins with. Those that stay do no harm.
func (o *Outbox) sweep(ctx context.Context, p *push, from int) {
	g := &errgroup.Group{}
	g.SetLimit(8)
	for n := p.base - 1; n >= from; n-- {
		g.Go(func() error { return o.folder.Drop(ctx, p.key(n)) })
	}
	_ = g.Wait() // nothing reads them
}
