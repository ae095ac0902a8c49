package jobs

import (
	"context"
	"errors"
	"slices"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// finish ends a job's plan, and notes what is left to do for the job. It runs beside other jobs'
// units, and afterwards nothing of the table stays in memory.
func (r *Runner) finish(a *active) {
	ctx := a.root
	r.ending.Go(func() error {
		p, to := a.plan, a.res.Result
		defer r.jobOver(to)
		if p.Ending == nil {
			return nil
		}
		leave, err := enter(ctx, r.Bounds.ending)
		if err != nil || ctx.Err() != nil {
			return nil //nolint:nilerr // the run was stopped
		}
		defer leave()
		brief, err := p.Ending.Finish(ctx, to.Outcome,
			ledger.Past{Runs: []ledger.Run{{ID: r.Run, Results: []ledger.Result{*to}}}})
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			to.Stopped = true
			return nil
		}
		if err == nil {
			to.Rest, to.Newest, to.Problems, to.Stored = brief.Rest, brief.Newest,
				slices.Concat(p.Problems, brief.Problems), brief.Stored
			to.Outcome.Suspected = brief.Outcome.Suspected
			if p.several {
				to.Others = brief.Others
			}
			to.Outcome.Asked(brief.Outcome)
			err = p.Ending.Release(ctx)
			r.Bounds.forget(p.Records)
			p.Records = 0
		}
		if err != nil {
			a.res.fail("", err)
		}
		return nil
	})
}

// jobOver calls Over with the result of a job for which this run does nothing more.
func (r *Runner) jobOver(res *ledger.Result) {
	if r.Over != nil {
		r.Over(*res)
	}
}
