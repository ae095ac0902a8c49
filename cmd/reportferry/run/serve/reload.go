package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/reportferry/reportferry/cmd/reportferry/see/console"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	pages "github.com/reportferry/reportferry/internal/console"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// A generation is what one reading of the config has opened. Each run and each reader holds it; the
// daemon does until there is a newer one. Who lets go of it last closes it.
type generation struct {
	engine    *wire.Engine
	session   *wire.Session // of those who read
	scheduled []*job
	console   *pages.Console
	holders   atomic.Int64
}

// hold is called with the daemon's lock, and therefore while the daemon holds the generation too.
func (g *generation) hold() { g.holders.Add(1) }

func (g *generation) release(log *slog.Logger) {
	if g.holders.Add(-1) > 0 {
		return
	}
	for _, end := range []func() error{g.session.Close, g.engine.Close} {
		if err := end(); err != nil {
			log.Warn("what a config had opened could not be closed well", "error", err)
		}
	}
}

// A reading is how the config was last read.
type reading struct {
	at      time.Time // of the config that holds
	refused error     // nil: it is the newest
	since   time.Time // when the newest was refused
}

// open reads the config and opens what it names. At least one job must have a schedule. Nothing is
// asked of the service.
func (d *daemon) open(ctx context.Context) (*generation, error) {
	e, err := d.program.Open(ctx, d.log)
	if err != nil {
		return nil, err
	}
	g := &generation{engine: e, session: e.Session("")}
	g.holders.Store(1)
	if err := g.prepare(); err != nil {
		g.release(d.log)
		return nil, err
	}
	return g, nil
}

// prepare finds the jobs that have a schedule, and makes what readers see.
func (g *generation) prepare() error {
	for _, c := range g.engine.Config.Jobs {
		schedule, err := refresh.ParseSchedule(c.Schedule, c.Zone)
		switch {
		case err != nil:
			return fmt.Errorf("job %s: %w: %w", c.Name, ledger.ErrRefused, err)
		case schedule == nil:
			g.engine.Log.Warn("the job has no schedule, so it runs only when asked for by name", "job", c.Name)
		default:
			g.scheduled = append(g.scheduled, &job{name: c.Name, table: c.Table, schedule: schedule})
		}
	}
	if len(g.scheduled) == 0 {
		return fmt.Errorf("%w: no job has a schedule, so there is nothing to serve", ledger.ErrRefused)
	}
	c, err := console.Of(g.session)
	if err != nil {
		return err
	}
	g.console = c
	return nil
}

// install makes a generation the one that runs begin with, and every job of it due. A job that runs
// goes on under its name.
func (d *daemon) install(g *generation) {
	if old := d.replace(g); old != nil {
		old.release(d.log) // which may take a moment, and nobody waits for it
	}
}

// replace is install without letting go of what was there before, which it returns.
func (d *daemon) replace(g *generation) (old *generation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if old = d.current; old != nil {
		g.engine.Budget = old.engine.Budget // one of the process, whose memory doesn't grow while runs of both go on
		g.engine.After(old.engine)
	}
	now := time.Now().Round(0)
	d.current, d.reading = g, reading{at: now}
	before := d.jobs
	d.jobs = nil
	for _, fresh := range g.scheduled {
		j := fresh
		if i := slices.IndexFunc(before, named(fresh.name)); i >= 0 {
			j = before[i]
			j.table, j.schedule = fresh.table, fresh.schedule
		}
		j.next, j.due = j.schedule.Next(now), true
		d.jobs = append(d.jobs, j)
	}
	for _, j := range before {
		if j.running && !slices.ContainsFunc(d.jobs, named(j.name)) {
			j.schedule, j.due = nil, false
			d.jobs = append(d.jobs, j)
		}
	}
	return old
}

func named(name string) func(*job) bool { return func(j *job) bool { return j.name == name } }

// reloads reads the config again at each hangup, one after the other.
func (d *daemon) reloads(ctx context.Context, hangups <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			// The time by which systemd tells this reload from the one before.
			notify(d.log, systemd.SdNotifyReloading, systemd.SdNotifyMonotonicUsec())
			d.reload(ctx)
			notify(d.log, systemd.SdNotifyReady)
			d.wake()
		}
	}
}

// reload replaces the config by what its file holds now. A config that is wrong changes nothing.
func (d *daemon) reload(ctx context.Context) {
	g, err := d.open(ctx)
	if err == nil {
		if err = d.renew(ctx); err != nil {
			g.release(d.log)
		}
	}
	if ctx.Err() != nil && err != nil {
		return // it stops, and that may be why
	}
	if err != nil {
		d.mu.Lock()
		d.reading.refused, d.reading.since = err, time.Now()
		d.mu.Unlock()
		d.say(slog.LevelError, "the config was refused, and the one before stays", "error", err)
		return
	}
	before := d.names()
	d.install(g)
	after := d.names()
	args := []any{"jobs", len(g.scheduled)}
	add := func(what string, list, than []string) {
		list = slices.DeleteFunc(slices.Clone(list), func(name string) bool { return slices.Contains(than, name) })
		if len(list) > 0 {
			args = append(args, what, strings.Join(list, ", "))
		}
	}
	add("new", after, before)
	add("gone", before, after)
	d.say(slog.LevelInfo, "the config was read again", args...)
}

// names are those of the jobs that have a schedule.
func (d *daemon) names() (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jobs {
		if j.schedule != nil {
			names = append(names, j.name)
		}
	}
	return names
}

// newest is what the newest config has opened. It stays open until the caller releases it.
func (d *daemon) newest() *generation {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.current.hold()
	return d.current
}

// show answers with a page of the newest config.
func (d *daemon) show(w http.ResponseWriter, r *http.Request) {
	g := d.newest()
	defer g.release(d.log)
	g.console.Handler().ServeHTTP(w, r)
}

// scrapeAge is how long a scrape goes by what was read before, unless this process has worked on
// the job since. What another process does is seen by then. Each reading of a job takes a listing
// of the ledger's bucket, which costs money.
const scrapeAge = 5 * time.Minute

// statuses says how the tables of the newest config are.
func (d *daemon) statuses(ctx context.Context) []pages.JobStatus {
	g := d.newest()
	defer g.release(d.log)
	return g.console.See(ctx, scrapeAge)
}
