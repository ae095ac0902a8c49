package jobs

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/internal/telemetry/step"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// A Runner does what jobs have planned: each unit under its claim, several at once. A unit that fails stops no other.
type Runner struct {
	Ledger   *ledger.Ledger
	Run      string        // the run's ID: in claims, records and logs
	Lease    time.Duration // of claims
	Deadline time.Time     // no unit is begun that would hardly be over by then; zero: none
	Parallel int           // units at once, over all jobs
	Share    Share         // this process's part of what several tasks have planned
	Log      *slog.Logger
	Observe  func(Progress) // called from several goroutines; nil: nobody looks
}

// Progress is one step of a job, for people who wait.
type Progress struct {
	Job    string
	Units  int             // planned: windows, or files
	Unit   string          // the one that is over; empty: the job has just been planned
	Result *ledger.Outcome // of the unit that is over
	Err    error
}

// RunJobs does the plans of the jobs, and gives the results in the order of list. It returns when every unit that it
// began is over.
func (r *Runner) RunJobs(ctx context.Context, list []Job, plans []Planned) []ledger.Result {
	results := make([]ledger.Result, len(list))
	s := &shift{desk: newDesk(r)}
	g := &errgroup.Group{}
	g.SetLimit(max(1, r.Parallel))
	begun := make([]*work, len(list))
	var others []task // with which other tasks begin
	for _, at := range r.Share.turns(plans) {
		w := begun[at.job]
		if w == nil {
			w = r.begin(ctx, list[at.job], plans[at.job], &results[at.job])
			begun[at.job] = w
			defer w.end()
		}
		if w.ctx == nil || at.unit < 0 {
			continue
		}
		t := task{w.ctx, w.job, plans[at.job].Units[at.unit], at.shared, w.res}
		if at.shared {
			others = append(others, t)
			continue
		}
		g.Go(func() error {
			r.unit(t, s)
			return nil
		})
	}
	for _, t := range r.left(ctx, others) {
		g.Go(func() error {
			r.unit(t, s)
			return nil
		})
	}
	_ = g.Wait() // errors are in the results
	r.more(s)
	for r.secondLook(ctx, s) {
		r.more(s)
	}
	r.finish(ctx, list, plans, results, s.desk)
	ledger.TrimTimings(results)
	return results
}

// work is a job that was begun.
type work struct {
	ctx context.Context // nil: none of its units is done
	job Job
	res *tally
	end func() // when all jobs are over
}

// begin begins a job, unless the run was stopped or the job couldn't be planned.
func (r *Runner) begin(ctx context.Context, job Job, p Planned, to *ledger.Result) *work {
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
	w := &work{job: job, res: &tally{Result: to, start: time.Now(), deny: deny}}
	w.end = func() {
		w.res.end(about, job)
		deny()
	}
	if p.Err != nil {
		w.res.fail("", p.Err)
		return w
	}
	w.ctx = ctx
	r.observe(Progress{Job: job.Name, Units: w.res.expect(windows(p.Units))})
	return w
}

// more does what came to light while other units were done, and what comes to light with that.
func (r *Runner) more(s *shift) {
	for tasks := s.more.take(); len(tasks) > 0; tasks = s.more.take() {
		g := &errgroup.Group{}
		g.SetLimit(max(1, r.Parallel))
		for _, t := range tasks {
			g.Go(func() error {
				r.unit(t, s)
				return nil
			})
		}
		_ = g.Wait() // errors are in the results
	}
}

// windows counts the windows, or files, of units.
func windows(units []Unit) (n int) {
	for _, u := range units {
		n += u.size()
	}
	return n
}

// finish has the tables written that tell of the jobs' tables, tidies up after all jobs, and notes what they leave.
func (r *Runner) finish(ctx context.Context, list []Job, plans []Planned, results []ledger.Result, d *desk) {
	g := &errgroup.Group{}
	g.SetLimit(planners)
	for i, p := range plans {
		if ctx.Err() != nil || p.Err != nil {
			continue
		}
		g.Go(func() (err error) {
			err = r.states(ctx, list[i], p.States, results[i].Outcome, d)
			if ctx.Err() != nil && errors.Is(err, context.Canceled) {
				results[i].Stopped = true
				return nil
			}
			if p.Tidy != nil {
				err = errors.Join(err, p.Tidy(ctx))
			}
			if p.Inspect != nil && err == nil {
				var in refresh.Inspection
				in, err = p.Inspect(ctx, ledger.Past{})
				results[i].Rest, results[i].Newest = in.Rest, in.Fresh.Newest
			}
			if err != nil {
				results[i].Errs = append(results[i].Errs, err)
			}
			return nil
		})
	}
	_ = g.Wait() // errors are in the results
}

func (r *Runner) observe(p Progress) {
	if r.Observe != nil {
		r.Observe(p)
	}
}

// A task is one unit of one job in a run.
type task struct {
	ctx    context.Context // of the job: it ends when the job is denied
	job    Job
	unit   Unit
	shared bool // another task has begun with the unit, or soon will
	res    *tally
}

// A shift is what the goroutines of one RunJobs share.
type shift struct {
	held heldUnits
	more found
	time timing
	desk *desk
}

// found are the tasks that came to light while others were done.
type found struct {
	mu    sync.Mutex
	tasks []task
}

// after notes what came to light while a task was done.
func (f *found) after(t task) {
	if t.unit.More == nil {
		return
	}
	units := t.unit.More()
	t.res.expect(windows(units))
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, u := range units {
		f.tasks = append(f.tasks, task{t.ctx, t.job, u, false, t.res})
	}
}

func (f *found) take() (tasks []task) {
	f.mu.Lock()
	defer f.mu.Unlock()
	tasks, f.tasks = f.tasks, nil
	return tasks
}

// unit does one unit under its claim, or puts it aside when another run holds it.
func (r *Runner) unit(t task, s *shift) {
	ctx := t.ctx
	if ctx.Err() != nil {
		t.res.stop(t.unit.size())
		return
	}
	if s.time.late(r.Deadline) {
		r.leave(t)
		return
	}
	if t.shared && r.elsewhere(t) {
		return
	}
	start := time.Now()
	out, err := r.claimed(t, s)
	var held *ledger.HeldError
	if errors.As(err, &held) {
		s.held.add(heldUnit{t, held})
		return
	}
	s.time.took(time.Since(start))
	s.more.after(t)
	r.over(t, out, err)
}

// left gives the units of other tasks that are left, in the order in which this one may help, and tallies the others. Tasks that share
// the rate are done at about the same time, so this one looks again after a moment before it gets into their way; and it begins with
// what they come to last.
func (r *Runner) left(ctx context.Context, units []task) []task {
	slices.Reverse(units)
	units = r.look(units)
	if len(units) == 0 {
		return nil
	}
	select {
	case <-ctx.Done():
	case <-time.After(min(time.Second, r.Lease/10)):
	}
	return r.look(units)
}

// look gives the units that no other process has done. A look mostly waits for the ledger's bucket.
func (r *Runner) look(units []task) (left []task) {
	over := make([]bool, len(units))
	g := &errgroup.Group{}
	g.SetLimit(planners)
	for i, t := range units {
		g.Go(func() error {
			over[i] = r.elsewhere(t)
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

// elsewhere tells whether another process has done the unit, or that can't be said, and tallies that.
func (r *Runner) elsewhere(t task) bool {
	if t.unit.Over == nil {
		return false
	}
	over, err := t.unit.Over(t.ctx)
	if over || err != nil {
		r.over(t, ledger.Outcome{}, err)
		return true
	}
	return false
}

// over tallies what came of a unit.
func (r *Runner) over(t task, out ledger.Outcome, err error) {
	for _, failed := range byFile(t.unit.Name, err) {
		log := r.Log.With("job", t.job.Name, "run", r.Run, "window", failed.File)
		switch {
		case out.Requests == 0 && t.res.ended():
			return // it was about to ask for what has been refused already
		case t.ctx.Err() != nil && errors.Is(failed, context.Canceled):
			log.Info("window stopped")
			t.res.stop(1)
			if t.unit.Files == nil {
				out.Failed = 0 // the next run goes on with it
			}
		case t.res.fail(failed.File, failed.Err):
			log.Error("window failed", "error", failed.Err)
		}
	}
	out.Windows = t.unit.size()
	t.res.add(out)
	r.observe(Progress{Job: t.job.Name, Units: t.res.expect(0), Unit: t.unit.Name, Result: &out, Err: err})
}

// claimed does one unit under its claim, and notes how long that took.
func (r *Runner) claimed(t task, s *shift) (out ledger.Outcome, err error) {
	begun := time.Now()
	ctx, about := step.Begin(t.ctx, step.Unit)
	defer func() { t.note(begun, out, err); t.end(ctx, about, out, err) }()
	hold, release, err := s.desk.take(ctx, t.job, t.unit)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, release()) }()
	return t.unit.Do(ctx, hold)
}

// A timing knows how long units take. No unit is begun that would be stopped half way by the deadline: its requests
// would be sent for nothing, and once more by the next run.
type timing struct {
	mu      sync.Mutex
	longest time.Duration
}

func (t *timing) took(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.longest = max(t.longest, d)
}

// late tells whether a unit that takes as long as the longest one so far would end after the deadline.
func (t *timing) late(deadline time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !deadline.IsZero() && time.Now().Add(t.longest).After(deadline)
}

// leave counts a unit that there is no time for.
func (r *Runner) leave(t task) {
	if t.res.leave(t.unit.size()) {
		r.Log.Warn("the deadline is near, so no more windows are begun; the next run goes on with them", "job", t.job.Name, "run", r.Run)
	}
}
