package serve

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

	"github.com/reportferry/reportferry/cmd/reportferry/text/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/jobs"
)

const (
	// tick is how often the clock is looked at. A timer that runs until a schedule fires would be
	// late after a machine has slept, or after its clock was set.
	tick = 15 * time.Second
	// hung is how old the last look at the clock may be.
	hung = 4 * tick
)

// A daemon runs the jobs of a config by their schedules.
type daemon struct {
	program *wire.Program
	log     *slog.Logger
	do      func(ctx context.Context, e *wire.Engine, jobs []string, over func(job string, code int)) (code int,
		err error)
	say     func(level slog.Level, text string, args ...any) // to people in full, whatever the log leaves out
	renew   func(context.Context) error                      // reads again what flags refer to
	pet     time.Duration                                    // how often systemd's watchdog is fed; 0: there is none
	said    string                                           // the status that systemd knows
	started time.Time

	beat     atomic.Pointer[time.Time] // the last look at the clock
	stopping atomic.Pointer[time.Time]
	ledger   watched
	poke     chan struct{} // something has changed: don't wait for the tick
	runs     sync.WaitGroup

	mu      sync.Mutex // guards what follows
	current *generation
	jobs    []*job
	reading reading
}

// A job is what is known of one by its name, whichever config has it.
type job struct {
	name, table string
	schedule    cron.Schedule // nil: the config has it no more, and it still runs
	next        time.Time     // zero: the schedule never fires
	due         bool          // to be looked at as soon as it doesn't run
	running     bool
	fills       string // the table of the run under way, which an older config may have called otherwise
	last        *scheduledRun
}

// A scheduledRun is the end of one run of a job that its schedule asked for.
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

// run begins what is due until ctx is done. It returns when the runs that this stopped have written
// their records.
func (d *daemon) run(ctx context.Context, hangups <-chan struct{}) {
	var beside sync.WaitGroup
	beside.Go(func() { d.reloads(ctx, hangups) })
	beside.Go(func() { d.watch(ctx) })
	for ready := false; ctx.Err() == nil; {
		wait, status := d.beginDue(ctx, time.Now())
		if !ready {
			notify(d.log, systemd.SdNotifyReady)
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
	notify(d.log, systemd.SdNotifyStopping)
	beside.Wait()
	d.runs.Wait()
}

// beginDue begins one run of all jobs that are due, and says how long nothing more will be, and
// what goes on.
func (d *daemon) beginDue(ctx context.Context, now time.Time) (wait time.Duration, status string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	wall := now.Round(0) // the time of day, which may be set, and not the time since the start
	wait = tick
	var due []*job
	for _, j := range d.jobs {
		if j.schedule == nil {
			continue
		}
		fires := !j.next.IsZero() && !wall.Before(j.next)
		j.next = j.schedule.Next(wall) // each time: the clock may have been set back
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

// busy tells whether a run is under way that fills the table of a job: its own, or that of a job
// which another config called otherwise.
func (d *daemon) busy(j *job) bool {
	return slices.ContainsFunc(d.jobs, func(o *job) bool { return o.running && (o == j || o.fills == j.table) })
}

// begin starts a run of jobs with what the newest config has opened.
func (d *daemon) begin(ctx context.Context, list []*job) {
	g := d.current
	g.hold()
	names := make([]string, len(list))
	open := map[string]*job{} // jobs of the run that aren't over
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
			d.jobs = slices.DeleteFunc(d.jobs, func(o *job) bool { return o.schedule == nil && !o.running })
			d.wake()
		}
	}
	d.runs.Go(func() {
		code := jobs.ExitFailed // when the run panics
		defer func() {
			if why := recover(); why != nil {
				d.log.Error("a run has panicked; the next one goes on from the ledger", "jobs", len(names), "error",
					fmt.Sprint(why), "stack", string(debug.Stack()))
			}
			for _, name := range names {
				over(name, code)
			}
			g.console.Changed() // the record of the run
			d.blame(list, code)
			g.release(d.log)
			d.wake()
		}()
		ended, err := d.do(ctx, g.engine, names, over)
		if code = ended; err != nil {
			code = exit.CodeOf(err)
			d.log.Error("the jobs could not be run", "jobs", strings.Join(names, ", "), "error", err)
		}
	})
}

// blame has jobs of a run failed whose own part went well, when the run failed by something else,
// such as its record.
func (d *daemon) blame(list []*job, code int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.ContainsFunc(list, func(j *job) bool { return j.last.Exit == code }) {
		return
	}
	for _, j := range list {
		if !j.running && j.last.Exit == jobs.ExitDone {
			j.last = &scheduledRun{At: j.last.At, Exit: code}
		}
	}
}

// wake lets the next turn come now.
func (d *daemon) wake() {
	select {
	case d.poke <- struct{}{}:
	default:
	}
}

// close lets go of what is open.
func (d *daemon) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.current.release(d.log)
}
