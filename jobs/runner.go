package jobs

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/internal/panics"
	"github.com/reportferry/reportferry/internal/telemetry/step"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Runner does what jobs have planned: each unit under its claim, several at once. A unit that fails stops no other.
type Runner struct {
	Ledger   *ledger.Ledger
	Run      string        // the run's ID: in claims, records and logs
	Lease    time.Duration // of claims
	Deadline time.Time     // no unit is begun that would hardly be over by then; zero: none
	Parallel int           // units at once, over all jobs
	Bounds   *Bounds       // of all runs of the process; nil: this is the only one
	Log      *slog.Logger
	Observe  func(Progress)      // called from several goroutines; nil: nobody looks
	Over     func(ledger.Result) // likewise, as soon as a job is over, be it before the run
}

// WindowFailed is the message that is logged of each unit that fails.
const WindowFailed = "window failed"

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
	if r.Bounds == nil {
		r.Bounds = NewBounds(r.Parallel)
	}
	s := &shift{desk: newDesk(r), works: make([]*work, len(list)), root: ctx}
	defer func() {
		for i, w := range s.works {
			if w != nil {
				w.end()
			}
			r.Bounds.forget(plans[i].Records)
		}
	}()
	g := &errgroup.Group{}
	g.SetLimit(max(1, r.Parallel))
	for i := range list {
		if plans[i].Others {
			continue
		}
		w := r.begin(ctx, s, list[i], &plans[i], &results[i])
		s.works[i] = w
		for _, t := range w.tasks {
			g.Go(func() error {
				r.unit(t, s)
				return nil
			})
		}
	}
	_ = g.Wait() // errors are in the results
	r.more(s)
	for r.secondLook(ctx, s) {
		r.more(s)
	}
	_ = s.ending.Wait() // errors are in the results
	ledger.TrimTimings(results)
	return results
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

func (r *Runner) observe(p Progress) {
	if r.Observe != nil {
		r.Observe(p)
	}
}

// A task is one unit of one job in a run.
type task struct {
	*work
	unit Unit
}

// A shift is what the goroutines of one RunJobs share.
type shift struct {
	held   heldUnits
	more   found
	time   timing
	desk   *desk
	works  []*work         // by job; nil: it wasn't begun
	ending errgroup.Group  // of jobs that are over
	root   context.Context // of the run
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
	t.open.Add(int64(len(units)))
	for _, u := range units {
		f.tasks = append(f.tasks, task{t.work, u})
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
	if t.ctx.Err() != nil {
		r.stop(t, s)
		return
	}
	if s.time.late(r.Deadline) {
		r.leave(t, s)
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
	r.over(t, s, out, err)
}

// over tallies what came of a unit.
func (r *Runner) over(t task, s *shift, out ledger.Outcome, err error) {
	defer s.close(r, t)
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
			if panicked := new(panics.Error); errors.As(failed.Err, &panicked) {
				log = log.With("stack", panicked.Stack)
			}
			log.Error(WindowFailed, "error", failed.Err)
		}
	}
	out.Windows = t.unit.size()
	t.res.add(out)
	r.observe(Progress{Job: t.job.Name, Units: t.res.expect(0), Unit: t.unit.Name, Result: &out, Err: err})
}

// claimed does one unit under its claim, and notes how long that took.
func (r *Runner) claimed(t task, s *shift) (out ledger.Outcome, err error) {
	leave, err := enter(t.ctx, r.Bounds.doing)
	if err != nil {
		return out, err
	}
	defer leave()
	begun := time.Now()
	ctx, about := step.Begin(t.ctx, step.Unit)
	defer func() { t.note(begun, out, err); t.end(ctx, about, out, err) }()
	hold, release, err := s.desk.take(ctx, t.job, t.unit)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, release()) }()
	err = panics.Caught("do "+t.unit.Name, func() (err error) { out, err = t.unit.Do(ctx, hold); return err })
	if panicked := new(panics.Error); errors.As(err, &panicked) {
		out.Failed = max(1, len(t.unit.Due)) // whatever it had counted is lost
	}
	return out, err
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
func (r *Runner) leave(t task, s *shift) {
	if t.res.leave(t.unit.size()) {
		r.Log.Warn("the deadline is near, so no more windows are begun; the next run goes on with them", "job", t.job.Name, "run", r.Run)
	}
	s.close(r, t)
}

// stop counts a unit that wasn't begun, or not finished, because the run was stopped.
func (r *Runner) stop(t task, s *shift) {
	t.res.stop(t.unit.size())
	s.close(r, t)
}

// close ends the job with its last unit.
func (s *shift) close(r *Runner, t task) {
	if t.open.Add(-1) == 0 {
		s.finish(r, t.work)
	}
}
