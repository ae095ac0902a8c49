package run

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/robfig/cron/v3"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/jobs"
)

const (
	// tickInterval is how often the daemon looks at the clock. A timer set to a schedule's next
	// time would be late after the machine has slept or its clock was set.
	tickInterval = 15 * time.Second
	// hungAfter is how old the last look at the clock is when the scheduler counts as hung.
	hungAfter = 4 * tickInterval
)

// A daemon runs the jobs of a config by their schedules.
type daemon struct {
	program *wire.Program
	log     *slog.Logger
	// do does one run of the named jobs, as runFunc describes it.
	do func(ctx context.Context, e *wire.Engine, jobs []string, over func(job string, code int)) (code int, err error)
	// announce tells people everything, whatever the log leaves out.
	announce       func(level slog.Level, text string, args ...any)
	renewSecrets   func(context.Context) error // reads again the secrets that flags refer to
	watchdogPeriod time.Duration               // how often systemd's watchdog is fed; 0: never
	lastStatus     string                      // the status last sent to systemd
	started        time.Time

	lastTick atomic.Pointer[time.Time] // the last look at the clock
	stopping atomic.Pointer[time.Time] // when the daemon began to stop; nil: it goes on
	ledger   cachedCheck               // whether the ledger can be reached
	wakeUp   chan struct{}             // wakes the scheduler before the next tick, because something has changed
	runs     sync.WaitGroup            // the runs under way

	mu      sync.Mutex // guards what follows
	current *generation
	jobs    []*servedJob
	reading configReading
}

// A servedJob is the state of the job with a name. A reload keeps it when the new config has a job
// of that name.
type servedJob struct {
	name, table  string
	schedule     cron.Schedule // nil: the job is gone from the config, but still runs
	next         time.Time     // zero: the schedule never fires
	due          bool          // it is to run as soon as it isn't running
	running      bool
	runningTable string // the table that the current run fills; an older config may give another one than table
	last         *scheduledRun
}

// A scheduledRun says when and how the last run of a job ended that its schedule had started.
type scheduledRun struct {
	At   time.Time `json:"at"`
	Exit int       `json:"exit"`
}

// newDaemon returns a daemon that does runs by do. The caller opens the first generation.
func newDaemon(p *wire.Program, log *slog.Logger, do func(context.Context, *wire.Engine, []string,
	func(string, int)) (int, error)) *daemon {
	return &daemon{
		program: p, log: log, do: do, started: time.Now(), wakeUp: make(chan struct{}, 1),
		announce: func(slog.Level, string, ...any) {}, renewSecrets: func(context.Context) error { return nil },
	}
}

// run begins what is due until ctx is done. It returns after the runs that this stopped have
// written their records.
func (d *daemon) run(ctx context.Context, hangups <-chan struct{}) {
	var beside sync.WaitGroup // what goes on beside the scheduler
	beside.Go(func() { d.reloadOnHangups(ctx, hangups) })
	beside.Go(func() { d.feedWatchdog(ctx) })
	for ready := false; ctx.Err() == nil; {
		wait, status := d.beginDue(ctx, time.Now())
		if !ready {
			tellSystemd(d.log, systemd.SdNotifyReady)
			ready = true
		}
		d.tellStatus(status)
		select {
		case <-ctx.Done():
		case <-d.wakeUp:
		case <-time.After(wait):
		}
	}
	now := time.Now()
	d.stopping.Store(&now)
	d.log.Info("stopping")
	tellSystemd(d.log, systemd.SdNotifyStopping)
	beside.Wait()
	d.runs.Wait()
}

// beginDue begins one run of all jobs that are due. It returns how long to wait before it is called
// again, and a line on what goes on.
func (d *daemon) beginDue(ctx context.Context, now time.Time) (wait time.Duration, status string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	wall := now.Round(0) // without the monotonic clock, because schedules go by the time of day
	wait = tickInterval
	var due []*servedJob
	for _, j := range d.jobs {
		if j.schedule == nil {
			continue
		}
		fires := !j.next.IsZero() && !wall.Before(j.next)
		j.next = j.schedule.Next(wall) // computed each time, because the clock may have been set back
		if fires {
			if j.running && !j.due {
				d.log.Info("the job still runs, so this firing of its schedule is skipped", "job", j.name)
			} else {
				j.due = true
			}
		}
		if j.due && ctx.Err() == nil && !d.isTableBusy(j) {
			j.running, j.due, j.runningTable = true, false, j.table
			due = append(due, j)
		}
		if !j.next.IsZero() {
			wait = min(wait, j.next.Sub(wall))
		}
	}
	if len(due) > 0 {
		d.beginRun(ctx, due)
	}
	d.lastTick.Store(&now)
	return wait, d.status()
}

// isTableBusy reports whether a run is under way that fills j's table: j's own run, or that of a
// job with another name in an older config.
func (d *daemon) isTableBusy(j *servedJob) bool {
	return slices.ContainsFunc(d.jobs, func(o *servedJob) bool {
		return o.running && (o == j || o.runningTable == j.table)
	})
}

// beginRun starts one run of the jobs, with the newest generation.
func (d *daemon) beginRun(ctx context.Context, list []*servedJob) {
	g := d.current
	g.hold()
	names := make([]string, len(list))
	open := map[string]*servedJob{} // the jobs of the run that haven't ended
	for i, j := range list {
		names[i], open[j.name] = j.name, j
	}
	over := func(name string, code int) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if j := open[name]; j != nil {
			delete(open, name)
			g.console.Changed(name)
			j.running, j.last = false, &scheduledRun{At: time.Now().UTC(), Exit: code}
			d.jobs = slices.DeleteFunc(d.jobs, func(o *servedJob) bool { return o.schedule == nil && !o.running })
			d.wake()
		}
	}
	d.runs.Go(func() {
		code := jobs.ExitFailed // stays when the run panics
		defer func() {
			if why := recover(); why != nil {
				d.log.Error("a run has panicked; the next one goes on from the ledger", "jobs", len(names), "error",
					fmt.Sprint(why), "stack", string(debug.Stack()))
			}
			for _, name := range names {
				over(name, code)
			}
			g.console.Changed() // the run's record was written
			d.markFailed(list, code)
			g.release(d.log)
			d.wake()
		}()
		ended, err := d.do(ctx, g.engine, names, over)
		if code = ended; err != nil {
			code = text.ExitCode(err)
			d.log.Error("the jobs could not be run", "jobs", strings.Join(names, ", "), "error", err)
		}
	})
}

// markFailed marks jobs as failed although their own part succeeded, when the run failed by
// something that belongs to none of them, such as its record.
func (d *daemon) markFailed(list []*servedJob, code int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.ContainsFunc(list, func(j *servedJob) bool { return j.last.Exit == code }) {
		return
	}
	for _, j := range list {
		if !j.running && j.last.Exit == jobs.ExitDone {
			j.last = &scheduledRun{At: j.last.At, Exit: code}
		}
	}
}

// wake makes the scheduler look at the jobs now.
func (d *daemon) wake() {
	select {
	case d.wakeUp <- struct{}{}:
	default:
	}
}

// close releases the newest generation.
func (d *daemon) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.current.release(d.log)
}
