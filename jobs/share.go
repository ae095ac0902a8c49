package jobs

import (
	"context"
	"time"
)

// A Share says which one of several tasks this process is that do one execution together. The zero
// Share is all of it.
//
// The tasks share the work by nothing that changes while they run, so that they need not talk: with
// at least as many jobs as tasks each job is one task's, and with fewer jobs several tasks have one
// job, and share its units by their numbers on the grid. A task plans only what it has a part of.
// Nobody does another task's part: the platform starts a task again that has failed.
type Share struct {
	Index int // of this task, from 0
	Count int // of tasks
}

// several tells whether there are other tasks.
func (s Share) several() bool { return s.Count > 1 }

// Plan plans this task's part of the jobs. Jobs that other tasks do aren't planned.
func (s Share) Plan(ctx context.Context, b *Bounds, list []Job, now time.Time) []Planned {
	plans := planJobs(ctx, b, list, now, func(job int) bool { return s.has(job, len(list)) })
	for i := range plans {
		plans[i].several = s.several() && s.Count > len(list)
		plans[i].Units = s.units(plans[i].Units, len(list))
	}
	return plans
}

// has tells whether the task has a part of one of so many jobs.
func (s Share) has(job, jobs int) bool {
	if !s.several() {
		return true
	}
	size := min(s.Count, jobs)
	return job%size == s.Index%size
}

// units gives the task's own units of a job.
func (s Share) units(units []Unit, jobs int) (own []Unit) {
	if !s.several() || jobs == 0 {
		return units
	}
	size := min(s.Count, jobs)
	job := s.Index % size
	tasks := (s.Count - job + size - 1) / size // that have a part of it
	for _, u := range units {
		if ((u.Number%tasks)+tasks)%tasks == s.Index/size {
			own = append(own, u)
		}
	}
	return own
}

// Own leaves out what belongs to the jobs that this task didn't plan.
func Own[T any](plans []Planned, all []T) (own []T) {
	for i, p := range plans {
		if !p.Others {
			own = append(own, all[i])
		}
	}
	return own
}
