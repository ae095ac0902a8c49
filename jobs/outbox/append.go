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
	if err != nil || created {
		return err
	}
	var there segment
	if o.folder.Read(ctx, p.key(n), &there) != nil || there.Writer != s.Writer {
		return o.outrun(p, n)
	}
	return nil
}

// alone looks again once segment n was created: that its number was free is no proof, because whoever has gone past it may
// have swept it since; and the claim may have been taken over.
func (o *Outbox) alone(ctx context.Context, p *push, n int) error {
	var top int
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		keys, err := o.folder.Keys(gctx, p.id+"/")
		for _, key := range keys {
			top = max(top, ledger.NumberOf(key))
		}
		return err
	})
	g.Go(func() error {
		claim := claimOf(ctx)
		if claim == nil {
			return nil
		}
		_, done, err := claim.Guard(gctx)
		if err == nil {
			done()
		}
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	if top > n {
		_ = o.folder.Drop(ctx, p.key(n)) // ours, and void; one that stays does no harm
		return o.outrun(p, top)
	}
	return nil
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
