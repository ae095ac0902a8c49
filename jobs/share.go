package jobs

import (
	"context"
	"time"
)

// A Share says which of several tasks this process is, when they do one execution together. The
// zero Share does all of it.
//
// The tasks share the work by what doesn't change while they run, so that they need not talk:
//   - With at least as many jobs as tasks, each job is one task's.
//   - With fewer jobs, several tasks have one job, and share its units by their numbers on the
//     grid.
//
// A task plans only what it has a part of. Nobody does another task's part, because the platform
// starts a task again that has failed.
type Share struct {
	Index int // this task's index, from 0
	Count int // how many tasks there are
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

// units returns the task's own units of a job.
func (s Share) units(units []Unit, jobs int) (own []Unit) {
	if !s.several() || jobs == 0 {
		return units
	}
	size := min(s.Count, jobs) // with fewer jobs than tasks, task i has a part of job i % size
	job := s.Index % size
	tasks := (s.Count - job + size - 1) / size // how many tasks have a part of the job
	for _, u := range units {
		if ((u.Number%tasks)+tasks)%tasks == s.Index/size {
			own = append(own, u)
		}
	}
	return own
}

// Own returns the elements of all whose jobs this task has planned. all has one element for each
// job.
func Own[T any](plans []Planned, all []T) (own []T) {
	for i, p := range plans {
		if !p.Others {
			own = append(own, all[i])
		}
	}
	return own
}
