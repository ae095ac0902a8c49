package jobs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// heldUnits are the units that another run held when this one came to them.
type heldUnits struct {
	mu    sync.Mutex
	units []heldUnit
	alive map[string]bool // runs that have sent a heartbeat since
}

type heldUnit struct {
	task task
	by   *ledger.HeldError
}

func (h *heldUnits) add(u heldUnit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.units = append(h.units, u)
}

func (h *heldUnits) take() (units []heldUnit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	units, h.units = h.units, nil
	return units
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

// secondLook comes back to the units that others held, once nothing else is left to do. A holder that lives sends a
// heartbeat within a third of its lease, and keeps its units. One that was killed sends none; its units are done here,
// because they would otherwise be missing until the next night while this run calls itself done. It tells whether there were any.
func (r *Runner) secondLook(ctx context.Context, s *shift) bool {
	units := s.held.take()
	if ctx.Err() != nil {
		for _, u := range units {
			r.stop(u.task, s)
		}
		return false
	}
	if len(units) == 0 {
		return false
	}
	r.Log.Warn("some windows are held by another run; waiting for its next heartbeat, or for its lease to end",
		"run", r.Run, "windows", len(units), "wait", r.Lease)
	g := &errgroup.Group{}
	g.SetLimit(max(1, r.Parallel))
	for _, u := range units {
		g.Go(func() error {
			r.await(u, s)
			return nil
		})
	}
	_ = g.Wait() // errors are in the results
	r.lastLook(s)
	return true
}

// lastLook tries units once more whose claims others need for units of their own: a holder that lives has perhaps done one of these, and
// has put this one aside because it was held then. Whoever is the last at work under the claims finds them free.
func (r *Runner) lastLook(s *shift) {
	for _, u := range s.held.take() {
		if u.task.ctx.Err() != nil {
			r.stop(u.task, s)
			continue
		}
		out, err := r.claimed(u.task, s)
		if now := (*ledger.HeldError)(nil); errors.As(err, &now) {
			r.keepsHeld(heldUnit{u.task, now}, s)
			continue
		}
		s.more.after(u.task)
		r.over(u.task, s, out, err)
	}
}

// keepsHeld counts a unit as one that another run does.
func (r *Runner) keepsHeld(u heldUnit, s *shift) {
	r.Log.Info("held by another run", "job", u.task.job.Name, "run", r.Run, "window", u.task.unit.Name, "error", u.by.Error())
	r.over(u.task, s, ledger.Outcome{Held: u.task.unit.size()}, nil)
}

// shares tells whether another unit of the job needs a claim that this one needs.
func (t task) shares() bool {
	return slices.ContainsFunc(t.tasks, func(other task) bool {
		return other.unit.Name != t.unit.Name && slices.ContainsFunc(t.unit.Claims, func(claim string) bool { return slices.Contains(other.unit.Claims, claim) })
	})
}

// await does a unit once it is free, or counts it as held when its holder lives.
func (r *Runner) await(u heldUnit, s *shift) {
	first, held := u.by, &s.held
	pause := min(time.Second, r.Lease/10) // a holder that lives is often done soon
	for u.task.ctx.Err() == nil && !held.isAlive(first.Run) {
		if s.time.late(r.Deadline) {
			r.leave(u.task, s)
			return
		}
		out, err := r.claimed(u.task, s)
		var now *ledger.HeldError
		if !errors.As(err, &now) {
			s.more.after(u.task)
			r.over(u.task, s, out, err)
			return
		}
		if now.Run != first.Run || now.Beat != first.Beat {
			held.showAlive(now.Run) // if another run has followed the first one, only that run is known to live
			break
		}
		select {
		case <-u.task.ctx.Done():
		case <-time.After(min(pause, now.Free+time.Millisecond)):
		}
		pause = min(pause+pause/4, r.Lease/10)
	}
	if u.task.ctx.Err() != nil {
		r.stop(u.task, s)
		return
	}
	if u.task.shares() {
		held.add(u)
		return
	}
	r.keepsHeld(u, s)
}
