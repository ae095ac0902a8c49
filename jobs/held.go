package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// heldUnits are the units that were another run's when this one came to them.
type heldUnits struct {
	mu    sync.Mutex
	units []heldUnit
	alive map[string]bool // runs that have shown a sign of life
}

type heldUnit struct {
	ctx  context.Context
	task task
	by   *ledger.HeldError
}

func (h *heldUnits) add(u heldUnit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.units = append(h.units, u)
}

func (h *heldUnits) isAlive(run string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.alive[run]
}

func (h *heldUnits) showAlive(run string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.alive == nil {
		h.alive = map[string]bool{}
	}
	h.alive[run] = true
}

// secondLook goes through the units that others held, when there is nothing else left to do. A holder that lives shows
// it within a third of its lease, and its units stay its own; one that was killed never does, and its units would be
// missing until the next night while this run calls itself done.
func (r *Runner) secondLook(ctx context.Context, s *shift) {
	held := &s.held
	if ctx.Err() != nil {
		for _, u := range held.units {
			u.task.res.stop(u.task.unit.size())
		}
		return
	}
	if len(held.units) == 0 {
		return
	}
	r.Log.Warn("some windows are held by another run; waiting for a sign of life from it, or the end of its lease",
		"run", r.Run, "windows", len(held.units), "wait", r.Lease.String())
	g := &errgroup.Group{}
	g.SetLimit(max(1, r.Parallel))
	for _, u := range held.units {
		g.Go(func() error {
			r.await(u, s)
			return nil
		})
	}
	_ = g.Wait() // errors are in the results
}

// await does a unit once it is free, or counts it as held when its holder lives.
func (r *Runner) await(u heldUnit, s *shift) {
	first, held := u.by, &s.held
	for u.ctx.Err() == nil && !held.isAlive(first.Run) {
		if s.time.late(r.Deadline) {
			r.leave(u.task)
			return
		}
		out, err := r.claimed(u.ctx, u.task.job, u.task.unit, s)
		var now *ledger.HeldError
		if !errors.As(err, &now) {
			r.over(u.ctx, u.task, out, err)
			return
		}
		if now.Run != first.Run || now.Beat != first.Beat {
			held.showAlive(now.Run) // of the first one, if it was followed, nothing is known
			break
		}
		select {
		case <-u.ctx.Done():
		case <-time.After(min(r.Lease/10, now.Free+time.Millisecond)):
		}
	}
	if u.ctx.Err() != nil {
		u.task.res.stop(u.task.unit.size())
		return
	}
	r.Log.Info("held by another run", "job", u.task.job.Name, "run", r.Run, "window", u.task.unit.Name, "status", first.Error())
	r.over(u.ctx, u.task, ledger.Outcome{Held: u.task.unit.size()}, nil)
}
