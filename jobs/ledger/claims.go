package ledger

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Claims are the claims of one table as one run sees them. It looks at those of all units at once, so that to claim many units takes
// no look before each. It is safe for concurrent use.
type Claims struct {
	ledger *Ledger
	table  string

	turn  *semaphore.Weighted // held to look at all
	keys  map[string][]string // by unit, of all objects; nil: nobody has looked yet
	early map[string]int      // what was swept by then, by unit
	taken map[string]bool     // units that were claimed since

	sweeps *look
	mu     sync.Mutex
	late   map[string]int // what was swept by the last look at that alone
}

func claimsOf(table string) string { return "tables/" + table + "/claims/" }

// Claims begins with a table. It asks the bucket for nothing.
func (l *Ledger) Claims(table string) *Claims {
	return &Claims{ledger: l, table: table, turn: semaphore.NewWeighted(1), sweeps: newLook()}
}

// Claim takes a unit, as Ledger.Claim does. Where what was seen is too old by now to take the unit by it, it looks again.
func (s *Claims) Claim(ctx context.Context, unit, run string, lease time.Duration) (*Claim, error) {
	seen, known, err := s.take(ctx, unit)
	if err != nil {
		return nil, err
	}
	c := s.ledger.newClaim(s.table, unit, run, lease)
	c.swept = s.swept
	if known {
		err := c.follow(ctx, seen)
		var held *HeldError
		if err == nil {
			return c, nil
		}
		if !errors.As(err, &held) {
			return nil, err
		}
	}
	return c.claim(ctx)
}

// swept looks at what was swept, for all who claim units of the table just now.
func (s *Claims) swept(ctx context.Context) (map[string]int, error) {
	err := s.sweeps.share(ctx, func() error {
		_, last, err := s.ledger.swept(ctx, s.table)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.late = last
		return err
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.late, err
}

// take gives what was seen of a unit, once: after that it is too old. Units are looked at in the order in which a claimant does:
// objects first, and then what was swept.
func (s *Claims) take(ctx context.Context, unit string) (seen used, known bool, err error) {
	if err := s.turn.Acquire(ctx, 1); err != nil {
		return seen, false, err
	}
	defer s.turn.Release(1)
	if s.keys == nil {
		keys, err := s.ledger.list(ctx, claimsOf(s.table))
		if err != nil {
			return seen, false, err
		}
		if _, s.early, err = s.ledger.swept(ctx, s.table); err != nil {
			return seen, false, err
		}
		s.keys, s.taken = map[string][]string{}, map[string]bool{}
		for _, key := range keys {
			name := path.Base(path.Dir(key))
			s.keys[name] = append(s.keys[name], key)
		}
	}
	known, s.taken[unit] = !s.taken[unit], true
	return used{s.keys[unit], s.early[unit]}, known, nil
}

// A Hold is the claims that one unit is done under. There is more than one when the unit's partitions lie in several
// cells of the grid of claims, which doesn't depend on the page.
type Hold []*Claim

// Leased returns nil while the leases of all claims last, by this process's own clocks.
func (h Hold) Leased() error {
	for _, c := range h {
		if err := c.Leased(); err != nil {
			return err
		}
	}
	return nil
}

// Guard allows one put, as each of the claims does.
func (h Hold) Guard(ctx context.Context) (context.Context, context.CancelFunc, error) {
	return h.each(ctx, (*Claim).Guard)
}

// Within gives a context that ends with the first of the leases.
func (h Hold) Within(ctx context.Context) (context.Context, context.CancelFunc, error) {
	return h.each(ctx, (*Claim).Within)
}

type bounding func(*Claim, context.Context) (context.Context, context.CancelFunc, error)

func (h Hold) each(ctx context.Context, bound bounding) (context.Context, context.CancelFunc, error) {
	var free []context.CancelFunc
	done := func() {
		for _, f := range free {
			f()
		}
	}
	for _, c := range h {
		guarded, f, err := bound(c, ctx)
		if err != nil {
			done()
			return nil, nil, err
		}
		ctx, free = guarded, append(free, f)
	}
	return ctx, done, nil
}

// Holders says which of some units of a table a run works on now, and which run that is. It is for people to look at: it goes by
// this machine's clock, so that only Claim tells whether a unit is free.
func (l *Ledger) Holders(ctx context.Context, table string, units []string) (map[string]string, error) {
	keys, err := l.list(ctx, claimsOf(table))
	if err != nil {
		return nil, err
	}
	last := map[string]string{} // the highest claim of each unit
	for _, key := range keys {
		if unit := path.Base(path.Dir(key)); slices.Contains(units, unit) && highest([]string{key, last[unit]}) > highest([]string{last[unit]}) {
			last[unit] = key
		}
	}
	held := map[string]string{}
	for unit, key := range last {
		var body claimBody
		var damaged *DamagedError
		err := l.read(ctx, key, &body)
		if isNotFound(err) || errors.As(err, &damaged) || err == nil && body.Released {
			continue
		}
		if err != nil {
			return nil, err
		}
		last, err := l.modified(ctx, key)
		if isNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%w: claim %s: read its age: %w", ErrBucket, l.location(key), err)
		}
		if time.Since(last) <= body.Lease {
			held[unit] = body.Run
		}
	}
	return held, nil
}
