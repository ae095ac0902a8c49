package outbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// append writes the next segment of a push. Only the holder of the claim, which ctx carries, does; when another one has
// gone on meanwhile, the error is ledger.ErrLost.
func (t *Table) append(ctx context.Context, p *push, s segment) error {
	if err := stillClaimed(ctx); err != nil {
		return err
	}
	n := p.last + 1
	s.Base, s.Writer, s.At = p.base, rand.Text(), time.Now().UTC()
	if s.Head != nil {
		s.Base = n
	}
	if err := t.again(ctx, func() error { return t.create(ctx, p, n, s) }); err != nil {
		return err
	}
	dropped := p.base
	p.last, p.base = n, s.Base
	if err := t.again(ctx, func() error { return t.alone(ctx, p, n) }); err != nil {
		return err
	}
	if s.Head != nil && dropped > 0 {
		t.sweep(ctx, p, dropped)
	}
	return nil
}

// again asks a store that fails three times at most.
func (t *Table) again(ctx context.Context, do func() error) (err error) {
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
func (t *Table) create(ctx context.Context, p *push, n int, s segment) error {
	created, err := t.folder.Create(ctx, p.key(n), s)
	if err != nil || created {
		return err
	}
	var there segment
	if t.folder.Read(ctx, p.key(n), &there) != nil || there.Writer != s.Writer {
		return t.outrun(p, n)
	}
	return nil
}

// alone looks again once segment n was created: that its number was free is no proof, because whoever has gone past it may
// have swept it since; and the claim may have been taken over.
func (t *Table) alone(ctx context.Context, p *push, n int) error {
	var top int
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		keys, err := t.folder.Keys(gctx, p.id+"/")
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
		_ = t.folder.Drop(ctx, p.key(n)) // ours, and void; one that stays does no harm
		return t.outrun(p, top)
	}
	return nil
}

func (t *Table) outrun(p *push, n int) error {
	return fmt.Errorf("%s is there already: another process has gone on with %s: %w", t.folder.Location(p.key(n)), p.head.Name, ledger.ErrLost)
}

// sweep drops the segments before the last whole one, the last of them first, so that what stays of a sweep that is cut
// short is what the next one begins with. Those that stay do no harm.
func (t *Table) sweep(ctx context.Context, p *push, from int) {
	g := &errgroup.Group{}
	g.SetLimit(8)
	for n := p.base - 1; n >= from; n-- {
		g.Go(func() error { return t.folder.Drop(ctx, p.key(n)) })
	}
	_ = g.Wait() // nothing reads them
}

// forget drops all of a push: its records first and the newest segment last, so that what is cut short is none that has lost
// something.
func (t *Table) forget(ctx context.Context, p *push) error {
	keys, err := t.folder.Keys(ctx, p.id+"/")
	slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(ledger.NumberOf(a), ledger.NumberOf(b)) })
	for _, key := range keys {
		if err == nil {
			err = t.folder.Drop(ctx, key)
		}
	}
	return err
}

// dropRecords drops the records of a push, of which counts and sums alone stay.
func (t *Table) dropRecords(ctx context.Context, p *push) error {
	return t.folder.Drop(ctx, p.recordsKey())
}

type claimKey struct{}

// withClaim gives a context that carries the claim under which a table is pushed, for whatever is about to act on it.
func withClaim(ctx context.Context, c *ledger.Claim) context.Context {
	return context.WithValue(ctx, claimKey{}, c)
}

func claimOf(ctx context.Context) *ledger.Claim {
	c, _ := ctx.Value(claimKey{}).(*ledger.Claim)
	return c
}

// stillClaimed tells, by a nil error, that the claim of ctx isn't over by this process's own clocks. Of a ctx without one it
// knows nothing against.
func stillClaimed(ctx context.Context) error {
	if c := claimOf(ctx); c != nil {
		return c.Leased()
	}
	return nil
}
