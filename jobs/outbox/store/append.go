package store

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

// Append writes the next segment of a push. Only the holder of the claim, which ctx carries, does; when another one has
// gone on meanwhile, the error is ledger.ErrLost.
func (t *Table) Append(ctx context.Context, p *Push, s Segment) error {
	if err := StillClaimed(ctx); err != nil {
		return err
	}
	n := p.Last + 1
	s.Base, s.Writer, s.At = p.Base, rand.Text(), time.Now().UTC()
	if s.Head != nil {
		s.Base = n
	}
	if err := t.again(ctx, func() error { return t.create(ctx, p, n, s) }); err != nil {
		return err
	}
	dropped := p.Base
	p.Last, p.Base = n, s.Base
	if err := t.again(ctx, func() error { return t.alone(ctx, p, n) }); err != nil {
		return err
	}
	if s.Head != nil && dropped > 0 {
		t.sweep(ctx, p, dropped)
	}
	return nil
}

// again does something up to three times when the store fails.
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

// create writes segment n. When there is one already, that is an error, unless it is this very segment: then the store's answer
// to an earlier request was lost.
func (t *Table) create(ctx context.Context, p *Push, n int, s Segment) error {
	created, err := t.Folder.Create(ctx, p.Key(n), s)
	if err == nil && !created {
		err = t.outrun(p, n)
	}
	return err
}

// alone looks again once segment n was created: another process may have gone past it, or taken the claim over.
func (t *Table) alone(ctx context.Context, p *Push, n int) error {
	holds, err := t.Folder.Holds(ctx, claimOf(ctx), p.ID+"/", n)
	if err == nil && !holds {
		err = t.outrun(p, n)
	}
	return err
}

func (t *Table) outrun(p *Push, n int) error {
	return fmt.Errorf("%s is there already: another process has gone on with %s: %w", t.Folder.Location(p.Key(n)), p.Head.Name, ledger.ErrLost)
}

// sweep drops the segments before the last one that says all, the newest of them first: what a sweep that is cut short leaves
// is then dropped by the next one. Segments that stay do no harm.
func (t *Table) sweep(ctx context.Context, p *Push, from int) {
	g := &errgroup.Group{}
	g.SetLimit(8)
	for n := p.Base - 1; n >= from; n-- {
		g.Go(func() error { return t.Folder.Drop(ctx, p.Key(n)) })
	}
	_ = g.Wait() // nothing reads them
}

// Forget drops all of a push: its records first, and the newest segment last. A push of which only some was dropped can then
// still be told from one that is damaged.
func (t *Table) Forget(ctx context.Context, p *Push) error {
	keys, err := t.Folder.Keys(ctx, p.ID+"/")
	slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(ledger.NumberOf(a), ledger.NumberOf(b)) })
	for _, key := range keys {
		if err == nil {
			err = t.Folder.Drop(ctx, key)
		}
	}
	return err
}

// DropRecords drops the records of a push, of which counts and sums alone stay.
func (t *Table) DropRecords(ctx context.Context, p *Push) error {
	return t.Folder.Drop(ctx, p.RecordsKey())
}

type claimKey struct{}

// WithClaim gives a context that carries the claim under which a table is pushed, for whatever is about to act on it.
func WithClaim(ctx context.Context, c *ledger.Claim) context.Context {
	return context.WithValue(ctx, claimKey{}, c)
}

func claimOf(ctx context.Context) *ledger.Claim {
	c, _ := ctx.Value(claimKey{}).(*ledger.Claim)
	return c
}

// StillClaimed returns an error when the claim in ctx is over by this process's own clocks, and nil when ctx has no claim.
func StillClaimed(ctx context.Context) error {
	if c := claimOf(ctx); c != nil {
		return c.Leased()
	}
	return nil
}
