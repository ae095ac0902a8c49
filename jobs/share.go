package jobs

import (
	"context"
	"time"
)

// A Share says which one of several tasks this is that do one execution together. The zero Share is all of it.
type Share struct {
	Index     int    // of this task, from 0
	Count     int    // of tasks
	Execution string // what all of them call it, and no other execution; empty: it has no name, and they can't tell each other what is done
}

// several tells whether there are other tasks.
func (s Share) several() bool { return s.Count > 1 }

// Plan plans the jobs of which a part is this task's own. The others are left to other tasks, until RunJobs finds one that is behind.
func (s Share) Plan(ctx context.Context, b *Bounds, list []Job, now time.Time) []Planned {
	return planJobs(ctx, b, list, now, func(job int) bool {
		from, to := s.part(job, len(list))
		return from < to
	})
}

// part is the task's part of one of so many jobs, from and to in parts of which the job has Count. The jobs lie in a row, and each task
// has as much of it as any other, be it several jobs or a piece of one.
func (s Share) part(job, jobs int) (from, to int) {
	if !s.several() {
		return 0, 1
	}
	begin := job * s.Count
	return max(jobs*s.Index-begin, 0), min(jobs*(s.Index+1)-begin, s.Count)
}

// from is how many tasks this one comes after the first that has a part of the job.
func (s Share) from(job, jobs int) int {
	first := job * s.Count / jobs
	return (s.Index - first + s.Count) % s.Count
}

// split gives the task's own units of a job, and those with which others begin.
func (s Share) split(job, jobs int, units []task) (own, others []task) {
	if !s.several() {
		return units, nil
	}
	from, to := s.part(job, jobs)
	if from >= to {
		return nil, units
	}
	from, to = len(units)*from/s.Count, len(units)*to/s.Count
	return units[from:to], append(units[:from:from], units[to:]...)
}

// Looked leaves out the jobs that other tasks have done and that this one hasn't looked at, of which it has nothing to say.
func Looked[T any](plans []Planned, all []T) (looked []T) {
	for i, p := range plans {
		if !p.Others {
			looked = append(looked, all[i])
		}
	}
	return looked
}
