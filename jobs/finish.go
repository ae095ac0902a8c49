package jobs

import (
	"context"
	"errors"
	"slices"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// finish calls the Ending of a job's plan, adds what that returns to the job's result, and frees
// the memory of the table's records. It does so in the background, beside other jobs' units.
func (r *Runner) finish(a *activeJob) {
	ctx := a.root
	r.ending.Go(func() error {
		p, result := a.plan, a.res.Result
		defer r.jobOver(result)
		if p.Ending == nil {
			return nil
		}
		leave, err := enter(ctx, r.Bounds.ending)
		if err != nil || ctx.Err() != nil {
			return nil //nolint:nilerr // the run was stopped
		}
		defer leave()
		brief, err := p.Ending.Finish(ctx, result.Outcome,
			ledger.Past{Runs: []ledger.Run{{ID: r.Run, Results: []ledger.Result{*result}}}})
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			result.Stopped = true
			return nil
		}
		if err == nil {
			result.Rest, result.Newest, result.Problems, result.Stored = brief.Rest, brief.Newest,
				slices.Concat(p.Problems, brief.Problems), brief.Stored
			result.Outcome.Suspected = brief.Outcome.Suspected
			if p.several {
				result.Others = brief.Others
			}
			result.Outcome.Asked(brief.Outcome)
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
