package jobs

import (
	"context"
	"errors"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// finish has the tables written that say how the job's table is, tidies up, and notes what the job leaves. It goes on beside other jobs'
// units, and once it is over nothing of the table stays in memory.
func (r *Runner) finish(a *active) {
	ctx := a.root
	r.ending.Go(func() error {
		p, to := a.plan, a.res.Result
		defer r.jobOver(to)
		leave, err := enter(ctx, r.Bounds.ending)
		if err != nil || ctx.Err() != nil {
			return nil //nolint:nilerr // the run was stopped
		}
		defer leave()
		err = writeStates(ctx, p.States, to.Outcome)
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			to.Stopped = true
			return nil
		}
		if p.Tidy != nil {
			err = errors.Join(err, p.Tidy(ctx))
		}
		if p.Brief != nil && err == nil {
			brief, failed := p.Brief(ctx, ledger.Past{Runs: []ledger.Run{{ID: r.Run, Results: []ledger.Result{*to}}}})
			to.Rest, to.Newest, to.Problems, to.Stored, err = brief.Rest, brief.Newest, brief.Problems, brief.Stored, failed
			to.Outcome.Suspected = brief.Outcome.Suspected
			if p.several {
				to.Others = brief.Others
			}
			to.Outcome.Asked(brief.Outcome)
		}
		if p.LetGo != nil && err == nil {
			err = p.LetGo(ctx)
			r.Bounds.forget(p.Records)
			p.Records = 0
		}
		if err != nil {
			a.res.fail("", err)
		}
		return nil
	})
}

// writeStates has the tables written that say how a job's table is. A run that did nothing for the job writes them only when one before
// it was killed, or failed, before it came to that.
func writeStates(ctx context.Context, s *States, done ledger.Outcome) error {
	if s == nil {
		return nil
	}
	if done.Done()+done.Failed == 0 && !s.Behind() {
		return nil
	}
	return s.Write(ctx)
}

// jobOver says that a job is over, of which nothing is done any more in this run.
func (r *Runner) jobOver(res *ledger.Result) {
	if r.Over != nil {
		r.Over(*res)
	}
}
