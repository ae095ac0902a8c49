package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// forget is how long it is remembered that a file was pushed, so that it isn't taken for a new one.
const forget = 400 * 24 * time.Hour

// Requeue makes the records in doubt of a file pending again, so that the next Do sends them; an empty name means all
// files. It gives how many there are.
func (o *Outbox) Requeue(ctx context.Context, name string) (n int64, err error) {
	err = o.held(ctx, func(ctx context.Context, pushes []*push) error {
		for _, p := range pushes {
			if !p.newest || p.states == nil || p.head.Pruned || name != "" && p.head.Name != name {
				continue
			}
			var found int64
			for row := int64(1); row <= p.states.rows; row++ {
				if p.states.get(row)&^doubt == unknown {
					p.states.set(row, pending|doubt)
					found++
				}
			}
			if found == 0 {
				continue
			}
			p.head.Ended = time.Time{}
			if err := o.append(ctx, p, p.whole(o.o.Run)); err != nil {
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

// Prune drops the records of pushes that are older than Options.Keep, and all of those that are older than 400 days. What
// was pushed of a file, by count and sum, stays known that long. While another process has the claim, nothing is done,
// and that is no error.
func (o *Outbox) Prune(ctx context.Context, now time.Time) error {
	pushes, orphans, err := o.pushes(ctx)
	if err != nil {
		return err
	}
	work := slices.ContainsFunc(orphans, func(p *push) bool { return o.orphan(p, "") })
	for _, p := range pushes {
		work = work || o.stale(p, now) || p.head.Pruned && (p.records || p.age(now) > forget)
	}
	if !work {
		return nil // without a claim
	}
	err = o.held(ctx, func(ctx context.Context, pushes []*push) error {
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

func (p *push) age(now time.Time) time.Duration {
	if p.open() {
		return now.Sub(p.head.Started)
	}
	return now.Sub(p.head.Ended)
}

func (o *Outbox) stale(p *push, now time.Time) bool { return !p.head.Pruned && p.age(now) > o.o.Keep }

func (o *Outbox) prune(ctx context.Context, p *push, now time.Time) error {
	if o.stale(p, now) {
		p.head.Counts, p.head.Pruned = p.tally(), true
		if p.open() {
			p.head.Ended = now.UTC()
		}
		p.states, p.spans, p.words = nil, nil, nil
		if err := o.append(ctx, p, p.whole(o.o.Run)); err != nil {
			return err
		}
	}
	if !p.head.Pruned {
		return nil
	}
	if p.age(now) > forget {
		return o.forget(ctx, p)
	}
	return o.folder.Drop(ctx, p.recordsKey())
}

// held does something to the pushes under the claim.
func (o *Outbox) held(ctx context.Context, do func(context.Context, []*push) error) error {
	return o.claimed(ctx, func(claim *ledger.Claim) error {
		h, err := under(ctx, claim)
		if err != nil {
			return err
		}
		defer h.free()
		pushes, orphans, err := o.pushes(h.ctx)
		if err != nil {
			return err
		}
		o.sweepOrphans(h.ctx, orphans, "")
		return do(h.ctx, pushes)
	})
}

// sweepOrphans drops records of which nothing was ever sent. Only the holder of the claim may: those of another process
// are so while it begins. name is the file that is read anew; empty: none.
func (o *Outbox) sweepOrphans(ctx context.Context, orphans []*push, name string) {
	for _, p := range orphans {
		if o.orphan(p, name) {
			_ = o.forget(ctx, p) // the next holder tries again
		}
	}
}

// orphan tells whether nothing is to be known of a push that ended before anything was sent.
func (o *Outbox) orphan(p *push, name string) bool {
	return p.head.Error == "" || p.head.Name == name || time.Since(p.head.Started) > o.o.Keep
}

// forget drops all of a push: its records first and the newest segment last, so that what is cut short is none that has lost
// something.
func (o *Outbox) forget(ctx context.Context, p *push) error {
	keys, err := o.folder.Keys(ctx, p.id+"/")
	slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(ledger.NumberOf(a), ledger.NumberOf(b)) })
	for _, key := range keys {
		if err == nil {
			err = o.folder.Drop(ctx, key)
		}
	}
	return err
}

// touch notes the new version of a file whose content is known.
func (w *work[V]) touch(ctx context.Context) error {
	p := w.resumed
	if p.head.Version == w.stat.Version {
		return nil
	}
	p.head.Version = w.stat.Version
	w.report.Version = w.stat.Version
	return w.o.append(ctx, p, p.whole(w.o.o.Run))
}

// refuse puts on record why nothing of a file is sent. It is no push: the next run reads the file again.
func (w *work[V]) refuse(ctx context.Context, p *push, why error) error {
	if p.id == "" {
		return nil // it was begun before
	}
	p.head.Error, p.head.Counts, p.head.Rejects = why.Error(), w.states.tally(), w.report.Rejects
	return w.o.append(ctx, p, p.whole(w.o.o.Run))
}

// supersede ends what other contents of the file left open: their records are nowhere to be read any more.
func (w *work[V]) supersede(ctx context.Context, by *push) error {
	for _, p := range w.pushes {
		if p == by || p.head.Name != by.head.Name || !p.open() {
			continue
		}
		p.head.Ended, p.head.Counts = time.Now().UTC(), p.tally()
		if err := w.o.append(ctx, p, p.whole(w.o.o.Run)); err != nil {
			return err
		}
	}
	return nil
}
