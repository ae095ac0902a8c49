package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// mostClaims is how many claims of a table may wait to be swept: plans read their names alone.
const mostClaims = 32

func sweptKey(table string, n int) string { return fmt.Sprintf("tables/%s/swept/%06d.json", table, n) }

// swept reads the last number swept of each unit, and the number of the object that has them; 0: nothing was swept yet.
func (l *Ledger) swept(ctx context.Context, table string) (n int, last map[string]int, err error) {
	const tries = 5 // a newer one may have replaced it between the listing and the reading
	for range tries {
		var keys []string
		if keys, err = l.list(ctx, fmt.Sprintf("tables/%s/swept/", table)); err != nil {
			return 0, nil, err
		}
		if n = highest(keys); n == 0 {
			return 0, nil, nil
		}
		if err = l.read(ctx, sweptKey(table, n), &last); !isNotFound(err) {
			return n, last, err
		}
	}
	return 0, nil, err
}

// sweep deletes the claims that were released, when many have gathered: a table would keep one for each cell of its
// grid for ever. Claimants may go on meanwhile. A claim is exclusive because no number is used twice, so the numbers
// are written down before their objects are deleted, in a numbered object of their own that is never changed. The next
// one holds all numbers of the one before it, none of them lower.
//
// Claims that were never released stay, also those of dead processes.
func (t *Table) sweep(ctx context.Context, above int) error {
	keys, err := t.ledger.list(ctx, t.prefix("claims"))
	if err != nil || len(keys) <= above {
		return err
	}
	n, last, err := t.ledger.swept(ctx, t.name)
	if err != nil {
		return err
	}
	over, err := t.released(ctx, keys)
	if err != nil {
		return err
	}
	numbers := maps.Clone(last)
	if numbers == nil {
		numbers = map[string]int{}
	}
	for unit, number := range over {
		numbers[unit] = max(numbers[unit], number)
	}
	drop := func() error {
		return t.ledger.drop(ctx, slices.DeleteFunc(keys, func(key string) bool {
			unit, number, ok := t.parseClaimKey(key)
			return !ok || number > numbers[unit]
		})...)
	}
	if maps.Equal(numbers, last) {
		return drop() // a sweep that was cut short goes on
	}
	return t.ledger.compact(ctx, t.prefix("swept"), n+1, numbers, drop)
}

// released gives the number of the last claim of each unit whose last claim was released. A damaged claim counts as
// held.
func (t *Table) released(ctx context.Context, keys []string) (map[string]int, error) {
	last, number := map[string]string{}, map[string]int{}
	for _, key := range keys {
		if unit, n, ok := t.parseClaimKey(key); ok && n >= number[unit] {
			last[unit], number[unit] = key, n
		}
	}
	units := slices.Sorted(maps.Keys(last))
	bodies := make([]claimBody, len(units))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for i, unit := range units {
		g.Go(func() error {
			err := t.ledger.read(gctx, last[unit], &bodies[i])
			var damaged *DamagedError
			if isNotFound(err) || errors.As(err, &damaged) {
				bodies[i] = claimBody{}
				return nil
			}
			return err
		})
	}
	over := map[string]int{}
	err := g.Wait()
	for i, unit := range units {
		if bodies[i].Released {
			over[unit] = number[unit]
		}
	}
	return over, err
}

// parseClaimKey reads unit and number from the key of a claim of this table.
func (t *Table) parseClaimKey(key string) (unit string, number int, ok bool) {
	unit, _, _ = strings.Cut(strings.TrimPrefix(key, t.prefix("claims")), "/")
	number, ok = numbered(key)
	return unit, number, ok
}

// drop deletes objects that may be gone already.
func (l *Ledger) drop(ctx context.Context, keys ...string) error {
	if err := l.store.Delete(ctx, keys...); err != nil {
		return fmt.Errorf("%w: %w", ErrBucket, err)
	}
	return nil
}
