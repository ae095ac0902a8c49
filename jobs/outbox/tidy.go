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

// remembered is how long it is remembered that a file was pushed, so that it isn't taken for a new one.
const remembered = 400 * 24 * time.Hour

// Requeue makes the records in doubt of a file pending again, so that the next Do sends them. An empty name means all files.
// It returns how many records there are.
func (o *Outbox) Requeue(ctx context.Context, name string) (n int64, err error) {
	err = o.held(ctx, time.Now(), func(ctx context.Context, pushes []*store.Push) error {
		for _, p := range pushes {
			if !p.Newest || p.States == nil || p.Head.Pruned || name != "" && p.Head.Name != name {
				continue
			}
			var found int64
			for row := int64(1); row <= p.States.Rows; row++ {
				if p.States.Get(row)&^store.Doubt == store.Unknown {
					p.States.Set(row, store.Pending|store.Doubt)
					found++
				}
			}
			if found == 0 {
				continue
			}
			p.Head.Ended = time.Time{}
			if err := o.table.Append(ctx, p, p.Whole(o.o.Run)); err != nil {
				return err
			}
			n += found
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("requeue records of %s: %w", o.o.Table, err)
	}
	return n, err
}

// Prune drops the records of pushes that are older than Options.Keep, and all of pushes that are older than 400 days: until
// then the counts and sums of a file stay known. While another process has the claim nothing is dropped, and that is no
// error.
func (o *Outbox) Prune(ctx context.Context, now time.Time) error {
	pushes, orphans, err := o.table.Pushes(ctx)
	if err != nil {
		return err
	}
	work := slices.ContainsFunc(orphans, func(p *store.Push) bool { return o.orphan(p, "", now) })
	for _, p := range pushes {
		work = work || o.stale(p, now) || p.Head.Pruned && (p.Records || p.Age(now) > remembered)
	}
	if !work {
		return nil // without a claim
	}
	err = o.held(ctx, now, func(ctx context.Context, pushes []*store.Push) error {
		for _, p := range pushes {
			if err := o.prune(ctx, p, now); err != nil {
				return err
			}
		}
		return nil
	})
	var held *ledger.HeldError
	if errors.As(err, &held) {
		return nil
	}
	if err != nil {
		err = fmt.Errorf("prune what was pushed of %s: %w", o.o.Table, err)
	}
	return err
}

func (o *Outbox) stale(p *store.Push, now time.Time) bool {
	return !p.Head.Pruned && p.Age(now) > o.o.Keep
}

func (o *Outbox) prune(ctx context.Context, p *store.Push, now time.Time) error {
	if o.stale(p, now) {
		p.Head.Counts, p.Head.Pruned = p.Tally(), true
		if p.Open() {
			p.Head.Ended = now.UTC()
		}
		p.States, p.Spans, p.Words = nil, nil, nil
		if err := o.table.Append(ctx, p, p.Whole(o.o.Run)); err != nil {
			return err
		}
	}
	if !p.Head.Pruned {
		return nil
	}
	if p.Age(now) > remembered {
		return o.table.Forget(ctx, p)
	}
	return o.table.DropRecords(ctx, p)
}

// held does something to the pushes of the table under a claim of its own.
func (o *Outbox) held(ctx context.Context, now time.Time, do func(context.Context, []*store.Push) error) error {
	return o.claimed(ctx, func(claim *ledger.Claim) error {
		h, err := under(ctx, claim)
		if err != nil {
			return err
		}
		defer h.free()
		pushes, orphans, err := o.table.Pushes(h.ctx)
		if err != nil {
			return err
		}
		o.sweepOrphans(h.ctx, orphans, "", now)
		return do(h.ctx, pushes)
	})
}

// sweepOrphans drops pushes of which nothing was ever sent. Only the holder of the claim may do that, because the push of a
// process that is about to begin looks the same. name is the file that is read anew; empty: none.
func (o *Outbox) sweepOrphans(ctx context.Context, orphans []*store.Push, name string, now time.Time) {
	for _, p := range orphans {
		if o.orphan(p, name, now) {
			_ = o.table.Forget(ctx, p) // the next holder tries again
		}
	}
}

// orphan tells whether a push that ended before anything was sent may be dropped. Why a file was refused is kept for a while.
func (o *Outbox) orphan(p *store.Push, name string, now time.Time) bool {
	return p.Head.Error == "" || p.Head.Name == name || now.Sub(p.Head.Started) > o.o.Keep
}

// touch notes the new version of a file whose content was pushed before.
func (w *work[V]) touch(ctx context.Context) error {
	p := w.resumed
	if p.Head.Version == w.stat.Version {
		return nil
	}
	p.Head.Version = w.stat.Version
	w.report.Version = w.stat.Version
	return w.o.table.Append(ctx, p, p.Whole(w.o.o.Run))
}

// refuse puts on record why nothing of a file is sent, or nothing more. The next run reads the file again all the same.
func (w *work[V]) refuse(ctx context.Context, fresh *store.Push, why error) error {
	p := w.resumed
	switch {
	case p != nil: // some of it was sent
	case fresh.ID == "":
		w.begin(fresh)
		fallthrough
	default:
		w.o.sweepOrphans(ctx, w.orphans, w.p.Name, time.Now())
		p = fresh
		p.Head.Counts = w.states.Tally()
	}
	p.Head.Error, p.Head.Rejects = why.Error(), w.report.Rejects
	return w.o.table.Append(ctx, p, p.Whole(w.o.o.Run))
}

// supersede ends the pushes of other contents of the file that are open: their rows can't be read any more.
func (w *work[V]) supersede(ctx context.Context, by *store.Push) error {
	for _, p := range w.pushes {
		if p == by || p.Head.Name != by.Head.Name || !p.Open() {
			continue
		}
		p.Head.Ended, p.Head.Counts = time.Now().UTC(), p.Tally()
		if err := w.o.table.Append(ctx, p, p.Whole(w.o.o.Run)); err != nil {
			return err
		}
	}
	return nil
}
