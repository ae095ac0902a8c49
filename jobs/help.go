package jobs

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// help goes on with the other tasks' part of the jobs, once the own one is done: with one job after the other of those that nobody has
// seen done. So a task that was killed or is behind holds up nothing. A job is planned only then, and which one comes first is left to
// chance, so that tasks which are done at the same time don't all go to the same one. Tasks that share the rate are done at about the
// same time, so this one waits a moment before it gets into their way; and each time that others are at work on all that is left of a
// job, it waits twice as long before it tries another. What they hold is left to the second look.
func (r *Runner) help(ctx context.Context, s *shift, list []Job, plans []Planned, results []ledger.Result, others map[int][]task) {
	if !r.Share.several() {
		return
	}
	var known, unknown []int // jobs
	for job := range list {
		switch {
		case plans[job].Others:
			unknown = append(unknown, job)
		case len(others[job]) > 0:
			// Who is last of those that have had a piece of a job sees so, and tells the others.
			if others[job] = r.look(others[job], s); len(others[job]) > 0 {
				known = append(known, job)
			}
		}
	}
	s.held.look(r, s)
	first := min(time.Second, r.Lease/10)
	pause, next := first, time.Now().Add(first)
	for ctx.Err() == nil && !s.time.late(r.Deadline) {
		wait, age := time.Until(next), s.marks.moment()
		if wait <= 0 {
			age = first / 10 // a look at a job costs more than one at the marks
		}
		unknown = slices.DeleteFunc(unknown, func(job int) bool { return s.marks.hasBy(ctx, list[job].Name, age) })
		if len(known)+len(unknown) == 0 {
			return
		}
		if wait > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(min(wait, s.marks.moment()/4)):
			}
			continue
		}
		var job int
		if len(known) > 0 {
			job, known = known[0], known[1:]
			others[job] = r.look(others[job], s)
		} else {
			at := rand.IntN(len(unknown))
			job = unknown[at]
			unknown = slices.Delete(unknown, at, at+1)
			plans[job] = planJob(ctx, r.Bounds, list[job], time.Now())
			s.works[job] = r.begin(ctx, s, list[job], &plans[job], &results[job])
			others[job] = s.works[job].tasks
		}
		tasks := others[job]
		delete(others, job)
		if r.helpWith(tasks, s, r.Share.from(job, len(list))) || s.marks.of == nil { // without marks there is no other way than to look at all
			pause, next = first, time.Now()
			continue
		}
		next = time.Now().Add(pause)
		pause = min(2*pause, max(first, r.Lease/10))
	}
	if len(unknown) > 0 {
		r.Log.Warn("this task ends before it has seen that the others' part is done", "run", r.Run, "jobs", len(unknown))
	}
	for _, tasks := range others {
		r.helpWith(tasks, s, 0) // which only counts them
	}
}

// helpWith does what is left of a job, and tells whether that was anything. Each task begins in another place, and who has the job to
// himself at the beginning.
func (r *Runner) helpWith(tasks []task, s *shift, place int) (progress bool) {
	if len(tasks) == 0 {
		return true
	}
	var done atomic.Bool
	g := &errgroup.Group{}
	g.SetLimit(max(1, r.Parallel))
	first := len(tasks) * place / r.Share.Count
	for _, t := range slices.Concat(tasks[first:], tasks[:first]) {
		g.Go(func() error {
			if r.unit(t, s) {
				done.Store(true)
			}
			t.crowded.Store(true)
			return nil
		})
	}
	_ = g.Wait() // errors are in the results
	if done.Load() {
		s.held.look(r, s)
	}
	return done.Load()
}

// look gives the units that no other process has done. A look mostly waits for the ledger's bucket.
func (r *Runner) look(units []task, s *shift) (left []task) {
	over := make([]bool, len(units))
	g := &errgroup.Group{}
	g.SetLimit(planners)
	for i, t := range units {
		g.Go(func() error {
			over[i] = r.elsewhere(t, s)
			return nil
		})
	}
	_ = g.Wait() // errors are in the results
	for i, t := range units {
		if !over[i] {
			left = append(left, t)
		}
	}
	return left
}
