package ledger

import "context"

// A Hold is the claims that a unit is done under.
type Hold []*Claim

// Guard allows one put, as each of the claims does.
func (h Hold) Guard(ctx context.Context) (context.Context, context.CancelFunc, error) {
	var free []context.CancelFunc
	done := func() {
		for _, f := range free {
			f()
		}
	}
	for _, c := range h {
		guarded, f, err := c.Guard(ctx)
		if err != nil {
			done()
			return nil, nil, err
		}
		ctx, free = guarded, append(free, f)
	}
	return ctx, done, nil
}
