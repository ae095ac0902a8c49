package jobs

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// Jobs that are planned at once. A plan mostly waits for the ledger's bucket.
const planners = 16

// Planned is what a job would do now, or why that can't be said.
type Planned struct {
	Plan
	Err error
}

// From begins the plan at the index-th of count parts of it, and ends with what was skipped: of tasks that share a plan,
// each begins elsewhere.
func (p *Plan) From(index, count int) {
	i, end := len(p.Units)*index/count, len(p.Units)*(index+1)/count
	p.Units = slices.Concat(p.Units[i:], p.Units[:i])
	p.own = end - i
	p.shared = true
}

// PlanJobs plans jobs, several at once, and gives their plans in order. Nothing is claimed or done.
func PlanJobs(ctx context.Context, list []Job, now time.Time) []Planned {
	plans := make([]Planned, len(list))
	g := &errgroup.Group{}
	g.SetLimit(planners)
	for i, job := range list {
		g.Go(func() error {
			plans[i].Plan, plans[i].Err = job.Kind.Plan(ctx, now)
			return nil
		})
	}
	_ = g.Wait() // errors are in the plans
	return plans
}
