package jobs

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/reportferry/reportferry/internal/telemetry/step"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A work is a job that was begun.
type work struct {
	ctx   context.Context // nil: none of its units is done
	job   Job
	plan  *Planned
	res   *tally
	tasks []task       // all that was planned
	open  atomic.Int64 // units that are neither over nor left
	end   func()       // when all jobs are over
}

// begin begins a job, unless the run was stopped or the job couldn't be planned.
func (r *Runner) begin(ctx context.Context, s *shift, job Job, p *Planned, to *ledger.Result) *work {
	*to = ledger.Result{Job: job.Name, Table: job.Table}
	if ctx.Err() != nil { // the run was stopped before: everything of this job is left
		to.Left = windows(p.Units)
		to.Stopped = to.Left > 0 || errors.Is(p.Err, context.Canceled)
		if p.Err == nil || to.Stopped {
			return &work{end: func() {}}
		}
	}
	ctx, deny := context.WithCancel(ctx)
	ctx, about := step.Begin(step.OfJob(ctx, job.Name), step.Job)
	w := &work{job: job, plan: p, res: &tally{Result: to, start: time.Now(), deny: deny}}
	w.end = func() {
		w.res.end(about, job)
		deny()
	}
	if p.Err != nil {
		w.res.fail("", p.Err)
		r.jobOver(to)
		return w
	}
	w.ctx = ctx
	if states := p.States; states != nil {
		states.Now = func(ctx context.Context) error { return r.write(ctx, job, states, s.desk) }
	}
	for _, u := range p.Units {
		w.tasks = append(w.tasks, task{w, u})
	}
	r.observe(Progress{Job: job.Name, Units: w.res.expect(windows(p.Units))})
	if w.open.Add(int64(len(p.Units))); len(p.Units) == 0 {
		s.finish(r, w)
	}
	return w
}

// finish has the tables written that tell of a job's table, tidies up, and notes what the job leaves. It goes on beside other jobs'
// units, and once it is over nothing of the table stays in memory.
func (s *shift) finish(r *Runner, w *work) {
	ctx := s.root
	s.ending.Go(func() error {
		p, to := w.plan, w.res.Result
		defer r.jobOver(to)
		leave, err := enter(ctx, r.Bounds.ending)
		if err != nil || ctx.Err() != nil {
			return nil //nolint:nilerr // the run was stopped
		}
		defer leave()
		err = r.states(ctx, w.job, p.States, to.Outcome, s.desk)
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			to.Stopped = true
			return nil
		}
		if p.Tidy != nil {
			err = errors.Join(err, p.Tidy(ctx))
		}
		if p.Brief != nil && err == nil {
			brief, failed := p.Brief(ctx, ledger.Past{Runs: []ledger.Run{{ID: r.Run, Results: []ledger.Result{*to}}}})
			to.Rest, to.Newest, to.Problems, err = brief.Rest, brief.Newest, brief.Problems, failed
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
			to.Errs = append(to.Errs, err)
			return nil
		}
		return nil
	})
}

// jobOver tells who wants to know that a job is over, of which nothing is done any more in this run.
func (r *Runner) jobOver(res *ledger.Result) {
	if r.Over != nil {
		r.Over(*res)
	}
}
