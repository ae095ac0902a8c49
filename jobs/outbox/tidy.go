package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox/store"
)

// remembered is how long the ledger remembers that a file was pushed, so that the file isn't taken
// for a new one.
const remembered = 400 * 24 * time.Hour

// Requeue makes the records of a file whose outcome is unknown pending again, so that the next Do
// sends them. An empty name means all files. It returns how many records it has changed.
func (o *Outbox) Requeue(ctx context.Context, name string) (n int64, err error) {
	err = o.Hold(ctx, func(ctx context.Context, l *Lease) error {
		for _, p := range l.Pushes {
			if !p.Newest || p.States == nil || p.Head.Pruned || name != "" && p.Head.Name != name {
				continue
			}
			var changed int64
			for row := int64(1); row <= p.States.Rows; row++ {
				if p.States.Get(row)&^store.Doubt == store.Unknown {
					p.States.Set(row, store.Pending|store.Doubt)
					changed++
				}
			}
			if changed == 0 {
				continue
			}
			p.Head.Ended = time.Time{}
			if err := l.Append(ctx, p, p.Whole()); err != nil {
				return err
			}
			n += changed
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("requeue records of %s: %w", o.options.Table, err)
	}
	return n, err
}

// Prune drops the records of pushes that are older than Options.Keep, and the pushes themselves
// when they are older than 400 days: until then, the counts and sums of a file stay known. While
// another process has the lease, Prune drops nothing and returns no error.
func (o *Outbox) Prune(ctx context.Context, now time.Time) error {
	pushes, err := o.table.Pushes(ctx, func(*store.Push) bool { return false })
	old := func(p *store.Push) bool {
		return p.Age(now) > o.options.Keep && (p.Head.First > 0 || !p.Head.Pruned) || o.forgotten(p, now)
	}
	if err != nil || !slices.ContainsFunc(pushes, old) {
		return err // no lease was needed
	}
	err = o.Hold(ctx, func(ctx context.Context, l *Lease) error {
		held := func(p *store.Push) bool { return p.Open() || p.Age(now) <= o.options.Keep }
		for _, p := range l.Pushes {
			if p.Age(now) > o.options.Keep && !p.Head.Pruned {
				if p.Head.Pruned, p.States = true, nil; p.Open() {
					p.Head.Ended = now.UTC() // the numbers of its segments stay taken for another Keep
				}
			}
		}
		return l.Sweep(ctx, held, func(p *store.Push) bool { return o.forgotten(p, now) })
	})
	if held := (*ledger.HeldError)(nil); errors.As(err, &held) {
		return nil
	}
	if err != nil {
		err = fmt.Errorf("prune what was pushed of %s: %w", o.options.Table, err)
	}
	return err
}

// forgotten tells whether a push is to be dropped as a whole. A push of a file that was refused is
// kept only as long as records are.
func (o *Outbox) forgotten(p *store.Push, now time.Time) bool {
	return p.Age(now) > remembered || p.Head.Whole == 0 && p.Age(now) > o.options.Keep
}
