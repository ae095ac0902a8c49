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
	// lookInterval is how often the daemon looks at the clock. A timer set to a schedule's next
	// time would be late after the machine has slept or its clock was set.
	lookInterval = 15 * time.Second
	// hungAfter is the age of the last look at the clock from which the scheduler counts as hung.
	hungAfter = 4 * lookInterval
)

// A daemon runs the jobs of a config by their schedules.
type daemon struct {
	program *wire.Program
	log     *slog.Logger
	do      func(ctx context.Context, e *wire.Engine, jobs []string, over func(job string, code int)) (code int,
		err error)
	say     func(level slog.Level, text string, args ...any) // tells people everything, whatever the log leaves out
	renew   func(context.Context) error                      // reads again the secrets that flags refer to
	pet     time.Duration                                    // how often systemd's watchdog is fed; 0: never
	said    string                                           // the status last sent to systemd
	started time.Time

	beat     atomic.Pointer[time.Time] // the last look at the clock
	stopping atomic.Pointer[time.Time]
	ledger   cachedCheck
	poke     chan struct{} // wakes the scheduler before the next tick, because something has changed
	runs     sync.WaitGroup

	mu      sync.Mutex // guards what follows
	current *generation
	jobs    []*servedJob
	reading configReading
}

// A servedJob is the state of the job with a name. It is kept when another config has a job of that
// name.
type servedJob struct {
	name, table string
	schedule    cron.Schedule // nil: the job is gone from the config, but still runs
	next        time.Time     // zero: the schedule never fires
	due         bool          // it is to run as soon as it isn't running
	running     bool
	fills       string // the table that the current run fills; an older config may give another one than table
	last        *scheduledRun
}

// A scheduledRun is how a run of a job that its schedule started has ended.
type scheduledRun struct {
	At   time.Time `json:"at"`
	Exit int       `json:"exit"`
}

func newDaemon(p *wire.Program, log *slog.Logger, do func(context.Context, *wire.Engine, []string,
	func(string, int)) (int, error)) *daemon {
	return &daemon{
		program: p, log: log, do: do, started: time.Now(), poke: make(chan struct{}, 1),
		say: func(slog.Level, string, ...any) {}, renew: func(context.Context) error { return nil },
	}
}

// run begins what is due until ctx is done. It returns after the runs that this stopped have
// written their records.
func (d *daemon) run(ctx context.Context, hangups <-chan struct{}) {
	var beside sync.WaitGroup
	beside.Go(func() { d.reloads(ctx, hangups) })
	beside.Go(func() { d.watch(ctx) })
	for ready := false; ctx.Err() == nil; {
		wait, status := d.beginDue(ctx, time.Now())
		if !ready {
			tellSystemd(d.log, systemd.SdNotifyReady)
			ready = true
		}
		d.tellStatus(status)
		select {
		case <-ctx.Done():
		case <-d.poke:
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
	wait = lookInterval
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
		if j.due && ctx.Err() == nil && !d.busy(j) {
			j.running, j.due, j.fills = true, false, j.table
			due = append(due, j)
		}
		if !j.next.IsZero() {
			wait = min(wait, j.next.Sub(wall))
		}
	}
	if len(due) > 0 {
		d.begin(ctx, due)
	}
	d.beat.Store(&now)
	return wait, d.status()
}

// busy reports whether a run is under way that fills j's table: j's own run, or that of a job with
// another name in an older config.
func (d *daemon) busy(j *servedJob) bool {
	return slices.ContainsFunc(d.jobs, func(o *servedJob) bool { return o.running && (o == j || o.fills == j.table) })
}

// begin starts one run of the jobs, with the newest generation.
func (d *daemon) begin(ctx context.Context, list []*servedJob) {
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
			d.blame(list, code)
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

// blame marks jobs as failed although their own part succeeded, when the run failed by something
// that belongs to none of them, such as its record.
func (d *daemon) blame(list []*servedJob, code int) {
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
	case d.poke <- struct{}{}:
	default:
	}
}

// close releases the newest generation.
func (d *daemon) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.current.release(d.log)
}
