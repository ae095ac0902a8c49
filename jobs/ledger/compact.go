package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
)

// createOwn writes an object that must not exist yet. It answers false when another writer's object is there. It knows its
// own object again, because a creation may succeed although its answer is lost, and is then asked for a second time.
func (l *Ledger) createOwn(ctx context.Context, key string, content any) (own bool, err error) {
	data, err := encodeObject(content)
	if err == nil {
		err = l.create(ctx, key, data)
	}
	if errors.Is(err, errExists) {
		there, err := l.get(ctx, key)
		return err == nil && there == string(data), nil
	}
	if err != nil {
		return false, fmt.Errorf("%w: write %s: %w", ErrBucket, l.location(key), err)
	}
	return true, nil
}

// holds is the second look after object n was created under a prefix where the highest number holds: it tells whether n does,
// and gives what is there. A number that is free may have been used and dropped before, and a slow writer then creates it again,
// below the number that holds by now. Such an object is void, and is dropped. With a claim, the error is ErrLost when the claim
// was taken over before the object was there.
func (l *Ledger) holds(ctx context.Context, claim *Claim, prefix string, n int) (holds bool, keys []string, err error) {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		keys, err = l.list(gctx, prefix)
		return err
	})
	if claim != nil {
		g.Go(func() error {
			_, done, err := claim.Guard(gctx)
			if err == nil {
				done()
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return false, nil, err
	}
	if highest(keys) != n {
		_ = l.drop(ctx, fmt.Sprintf("%s%06d.json", prefix, n)) // if it stays it does no harm
		return false, nil, nil
	}
	return true, keys, nil
}

// compact replaces many objects by one: object n under prefix holds what they say, drop deletes them, and then the objects
// below n go. The order matters: what is dropped is in an object that holds, and a reader who has listed a number below n
// and doesn't find it lists again. Of two compactors at once one wins, and the other leaves everything as it is.
func (l *Ledger) compact(ctx context.Context, prefix string, n int, content any, drop func() error) error {
	own, err := l.createOwn(ctx, fmt.Sprintf("%s%06d.json", prefix, n), content)
	if err != nil || !own {
		return err
	}
	holds, keys, err := l.holds(ctx, nil, prefix, n)
	if err != nil || !holds {
		return err
	}
	if err := drop(); err != nil {
		return err
	}
	return l.drop(ctx, slices.DeleteFunc(keys, func(key string) bool {
		number, ok := numbered(key)
		return !ok || number >= n
	})...)
}

func highest(keys []string) int {
	top := 0
	for _, key := range keys {
		if n, ok := numbered(key); ok {
			top = max(top, n)
		}
	}
	return top
}
