package jobs

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/internal/panics"
	"github.com/reportferry/reportferry/internal/telemetry/step"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Runner does what jobs have planned, several units at once. A unit that fails, or panics, stops
// no other.
type Runner struct {
	Run      string        // the run's ID, for logs
	Lease    time.Duration // how long a unit is leased for
	Deadline time.Time     // no unit is begun that would hardly be over by then; zero: there is no deadline
	Parallel int           // units at once, over all jobs; 1: a unit begins when the one before it is on record
	Bounds   *Bounds       // shared by all runs of the process; nil: this is the only run
	Log      *slog.Logger
	Observe  func(Progress)      // called from several goroutines; may be nil
	Over     func(ledger.Result) // called likewise, as soon as a job is over, even while the run goes on

	mu      sync.Mutex
	longest time.Duration  // that any unit has taken so far
	later   []queuedUnit   // units that came to light while others were done
	ending  errgroup.Group // finishes jobs beside the units of others
}

// WindowFailed is the message that is logged for each unit that fails.
const WindowFailed = "window failed"

// Progress is one step of a job, for people who wait.
type Progress struct {
	Job    string
	Units  int             // planned: windows, or files
	Unit   string          // the unit that is over; empty: the job has just been planned
	Result *ledger.Outcome // what came of the unit that is over
	Err    error
}

// A queuedUnit is one unit of one job in a run.
type queuedUnit struct {
	*activeJob
	unit Unit
	held *ledger.HeldError // the run that held it when this run first tried it
	turn int               // how many units of its account come before it

	freeSlot func() // gives the unit's slot back, so that the next unit begins
}

// An activeJob is a job that this run has begun.
type activeJob struct {
	ctx  context.Context // ends with the run, or when the job goes no further
	root context.Context // the run's own
	job  Job
	plan *Planned
	res  *tally
	open atomic.Int64 // units that are neither over nor left
}

// RunJobs carries out the plans of the jobs, and returns the results in the order of list. It
// returns when every unit that it began is over.
func (r *Runner) RunJobs(ctx context.Context, list []Job, plans []Planned) []ledger.Result {
	results := make([]ledger.Result, len(list))
	if r.Bounds == nil {
		r.Bounds = NewBounds(r.Parallel)
	}
	var units []queuedUnit
	for i := range list {
		if !plans[i].Others {
			begun, end := r.begin(ctx, list[i], &plans[i], &results[i])
			units = append(units, begun...)
			defer func() {
				end()
				r.Bounds.forget(plans[i].Records)
			}()
		}
	}
	inTurn(units)
	for held := r.doUnits(units); len(held) > 0; held = r.doUnits(held) {
		r.Log.Warn("another run holds windows; waiting for it, or for its lease's end",
			"run", r.Run, "windows", len(held), "wait", r.Lease)
	}
	_ = r.ending.Wait() // errors are in the results
	ledger.TrimTimings(results)
	return results
}

// inTurn sorts units so that accounts take turns, and the units of each account stay in order: a
// slow account keeps no other from beginning.
func inTurn(units []queuedUnit) {
	begun := map[string]int{}
	for i, t := range units {
		units[i].turn = begun[t.job.Account]
		begun[t.job.Account]++
	}
	slices.SortStableFunc(units, func(a, b queuedUnit) int { return a.turn - b.turn })
}

// doUnits does units, and units that come to light with them, several at once. It returns those
// that another run holds and that this run tried for the first time.
func (r *Runner) doUnits(units []queuedUnit) (held []queuedUnit) {
	for len(units) > 0 {
		most := max(1, r.Parallel)
		slots := make(chan struct{}, most)
		g := &errgroup.Group{}
		g.SetLimit(2*most - 1) // units in slots, and units that only write their records
		for _, t := range units {
			slots <- struct{}{}
			t.freeSlot = sync.OnceFunc(func() { <-slots })
			g.Go(func() error {
				defer t.freeSlot()
				if by := r.tryUnit(t); by != nil {
					t.held = by
					r.mu.Lock()
					defer r.mu.Unlock()
					held = append(held, t)
				}
				return nil
			})
		}
		_ = g.Wait() // errors are in the results
		units, r.later = r.later, nil
	}
	return held
}

// begin begins a job, unless the run was stopped or the job couldn't be planned. end is to be
// called when all jobs are over.
func (r *Runner) begin(ctx context.Context, job Job, p *Planned, result *ledger.Result) (units []queuedUnit,
	end func()) {
	*result = ledger.Result{Job: job.Name, Table: job.Table}
	// The run was stopped before: everything of this job is left.
	if ctx.Err() != nil || errors.Is(p.Err, context.Canceled) {
		result.Left = windows(p.Units)
		result.Stopped = result.Left > 0 || errors.Is(p.Err, context.Canceled)
		if p.Err == nil || result.Stopped {
			return nil, func() {}
		}
	}
	own, endJob := context.WithCancel(ctx)
	own, about := step.Begin(step.OfJob(own, job.Name), step.Job)
	a := &activeJob{ctx: own, root: ctx, job: job, plan: p,
		res: &tally{Result: result, start: time.Now(), endJob: endJob}}
	end = func() {
		a.res.end(about, job)
		endJob()
	}
	if p.Err != nil {
		a.res.fail("", p.Err)
		r.jobOver(result)
		return nil, end
	}
	for _, u := range p.Units {
		units = append(units, queuedUnit{activeJob: a, unit: u})
	}
	r.observe(Progress{Job: job.Name, Units: a.res.expect(windows(p.Units))})
	if a.open.Add(int64(len(units))); len(units) == 0 {
		r.finish(a)
	}
	return units, end
}

// tryUnit does one unit, unless the run was stopped or the deadline is near. When another run holds
// the unit, tryUnit returns the HeldError on the first try. On the second try it counts the unit as
// held if the lease was renewed, and otherwise waits for the lease to end.
func (r *Runner) tryUnit(t queuedUnit) *ledger.HeldError {
	left := func() bool {
		switch {
		case t.ctx.Err() != nil:
			t.res.stop(t.unit.size())
		case r.late():
			if t.res.leave(t.unit.size()) {
				r.Log.Warn("the deadline is near, so no more windows are begun; the next run goes on with them", "job",
					t.job.Name, "run", r.Run)
			}
		default:
			return false
		}
		r.unitClosed(t)
		return true
	}
	if left() {
		return nil
	}
	out, err := r.doUnit(t)
	held := new(ledger.HeldError)
	// A run that lives renews its lease, and keeps the unit. One that was killed doesn't; its units
	// are done here, because they would otherwise be missing until the next night while this run
	// calls itself done.
	for first := t.held; errors.As(err, &held); out, err = r.doUnit(t) {
		switch {
		case first == nil:
			return held
		case held.Run == first.Run && held.Unit != first.Unit: // the lease of another month, which ends later
			first = held
		case held.Run != first.Run || !held.Until.Equal(first.Until):
			r.Log.Info("held by another run", "job", t.job.Name, "run", r.Run, "window", t.unit.Name, "error",
				held.Error())
			r.unitOver(t, ledger.Outcome{Held: t.unit.size()}, nil)
			return nil
		}
		// A run renews its lease after a third of it, so a renewal shows soon after this time.
		renewal := held.Free - 2*r.Lease/3
		select {
		case <-t.ctx.Done():
		case <-time.After(min(held.Free, max(renewal, 0)+r.Lease/10) + time.Millisecond):
		}
		if left() {
			return nil
		}
	}
	// Units that came to light are queued for later.
	if t.unit.More != nil {
		more := t.unit.More()
		t.res.expect(windows(more))
		t.open.Add(int64(len(more)))
		r.mu.Lock()
		for _, u := range more {
			r.later = append(r.later, queuedUnit{activeJob: t.activeJob, unit: u})
		}
		r.mu.Unlock()
	}
	r.unitOver(t, out, err)
	return nil
}

// doUnit does one unit when Bounds has a slot for it, and notes how long that took.
func (r *Runner) doUnit(t queuedUnit) (out ledger.Outcome, err error) {
	leave, err := enter(t.ctx, r.Bounds.doing)
	if err != nil {
		return out, err
	}
	leave = sync.OnceFunc(leave)
	defer leave()
	begun := t.res.beginUnit()
	ctx, about := step.Begin(ledger.WithPut(t.ctx, func() { leave(); t.freeSlot() }), step.Unit)
	err = panics.Caught("do "+t.unit.Name, func() (err error) { out, err = t.unit.Do(ctx); return err })
	if panicked := new(panics.Error); errors.As(err, &panicked) {
		out.Failed = max(1, len(t.unit.Due)) // whatever it had counted is lost
	}
	if held := new(ledger.HeldError); errors.As(err, &held) {
		about.Set(attribute.Bool("reportferry.held", true)) // it wasn't begun, and is no failure
		about.End(nil)
		return out, err
	}
	t.res.note(t.unit.Name, begun, out, err, t.ctx.Err() != nil)
	step.Count(ctx, step.Rows, out.Rows)
	step.Count(ctx, step.Bytes, out.CSVBytes, attribute.String("direction", "in"))
	step.Count(ctx, step.Bytes, out.ParquetBytes, attribute.String("direction", "out"))
	about.Set(attribute.String("reportferry.unit", t.unit.Name), attribute.Int("reportferry.partitions",
		len(t.unit.Due)), attribute.Int64("reportferry.rows", out.Rows),
		attribute.Int("reportferry.failed", out.Failed), attribute.Int("reportferry.unreconciled", out.Unreconciled))
	about.End(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.longest = max(r.longest, time.Since(begun))
	return out, err
}

// unitOver adds what came of a unit to the job's result.
func (r *Runner) unitOver(t queuedUnit, out ledger.Outcome, err error) {
	defer r.unitClosed(t)
	for _, failed := range byFile(t.unit.Name, err) {
		log := r.Log.With("job", t.job.Name, "run", r.Run, "window", failed.File)
		switch {
		case out.Requests == 0 && t.res.ended():
			return // it would only have asked for what has been refused already
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

// late tells whether a unit that takes as long as the longest one so far would end after the
// deadline: its requests would be sent for nothing, and once more by the next run.
func (r *Runner) late() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.Deadline.IsZero() && time.Now().Add(r.longest).After(r.Deadline)
}

// unitClosed counts a unit as over or left, and finishes the job after its last unit.
func (r *Runner) unitClosed(t queuedUnit) {
	if t.open.Add(-1) == 0 {
		r.finish(t.activeJob)
	}
}

// observe calls Observe, if there is one.
func (r *Runner) observe(p Progress) {
	if r.Observe != nil {
		r.Observe(p)
	}
}
