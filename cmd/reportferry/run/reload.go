package run

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

// A generation has what was opened for one reading of the config. Each run and each reader of pages
// holds it, and the daemon holds the newest one. The last holder to release it closes it.
type generation struct {
	engine    *wire.Engine
	session   *wire.Session // for pages and scrapes
	scheduled []*servedJob  // the jobs that have a schedule
	console   *pages.Console
	holders   atomic.Int64 // how many hold the generation
}

// hold adds a holder. The caller holds the daemon's lock, so that the daemon still holds the
// generation.
func (g *generation) hold() { g.holders.Add(1) }

// release removes a holder, and closes the generation after the last.
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

// A configReading says how the last readings of the config went.
type configReading struct {
	at      time.Time // when the config in use was read
	refused error     // why the newest config was refused; nil: it is in use
	since   time.Time // when it was refused
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

// prepare finds the jobs that have a schedule, and makes the console's pages.
func (g *generation) prepare() error {
	for _, c := range g.engine.Config.Jobs {
		schedule, err := refresh.ParseSchedule(c.Schedule, c.Zone)
		switch {
		case err != nil:
			return fmt.Errorf("job %s: %w: %w", c.Name, ledger.ErrRefused, err)
		case schedule == nil:
			g.engine.Log.Warn("the job has no schedule, so it runs only when asked for by name", "job", c.Name)
		default:
			g.scheduled = append(g.scheduled, &servedJob{name: c.Name, table: c.Table, schedule: schedule})
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

// install makes g the generation that new runs use, and makes every job of it due. A job that is
// running keeps its entry.
func (d *daemon) install(g *generation) {
	if old := d.replace(g); old != nil {
		old.release(d.log) // this may take a moment, but nobody waits for it
	}
}

// replace does what install does, but returns the old generation instead of releasing it.
func (d *daemon) replace(g *generation) (old *generation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if old = d.current; old != nil {
		g.engine.Budget = old.engine.Budget // of the process, so that runs of both share its memory
		g.engine.After(old.engine)
	}
	now := time.Now().Round(0)
	d.current, d.reading = g, configReading{at: now}
	before := d.jobs
	d.jobs = nil
	for _, fresh := range g.scheduled {
		j := fresh
		if i := slices.IndexFunc(before, jobsNamed(fresh.name)); i >= 0 {
			j = before[i]
			j.table, j.schedule = fresh.table, fresh.schedule
		}
		j.next, j.due = j.schedule.Next(now), true
		d.jobs = append(d.jobs, j)
	}
	for _, j := range before {
		if j.running && !slices.ContainsFunc(d.jobs, jobsNamed(j.name)) {
			j.schedule, j.due = nil, false
			d.jobs = append(d.jobs, j)
		}
	}
	return old
}

// jobsNamed returns a function that tells whether a job has the name.
func jobsNamed(name string) func(*servedJob) bool {
	return func(j *servedJob) bool { return j.name == name }
}

// reloadOnHangups reads the config again at each hangup, one after the other.
func (d *daemon) reloadOnHangups(ctx context.Context, hangups <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			// systemd tells this reload from the one before by the time.
			tellSystemd(d.log, systemd.SdNotifyReloading, systemd.SdNotifyMonotonicUsec())
			d.reload(ctx)
			tellSystemd(d.log, systemd.SdNotifyReady)
			d.wake()
		}
	}
}

// reload replaces the config with what its file contains now. A config that is wrong changes
// nothing.
func (d *daemon) reload(ctx context.Context) {
	g, err := d.open(ctx)
	if err == nil {
		if err = d.renewSecrets(ctx); err != nil {
			g.release(d.log)
		}
	}
	if ctx.Err() != nil && err != nil {
		return // the process is stopping, which may be the cause
	}
	if err != nil {
		d.mu.Lock()
		d.reading.refused, d.reading.since = err, time.Now()
		d.mu.Unlock()
		d.announce(slog.LevelError, "the config was refused, and the one before stays", "error", err)
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
	d.announce(slog.LevelInfo, "the config was read again", args...)
}

// names returns the names of the jobs that have a schedule.
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

// newest returns the newest generation. It stays open until the caller releases it.
func (d *daemon) newest() *generation {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.current.hold()
	return d.current
}

// servePage answers with a page of the newest config.
func (d *daemon) servePage(w http.ResponseWriter, r *http.Request) {
	g := d.newest()
	defer g.release(d.log)
	g.console.Handler().ServeHTTP(w, r)
}

// scrapeAge is how old a job's state may be in a scrape, unless this process has worked on the job
// since. Work of another process shows after that time at most. Reading a job's state lists objects
// of the ledger's bucket, which costs money.
const scrapeAge = 5 * time.Minute

// statuses returns the state of the newest config's tables.
func (d *daemon) statuses(ctx context.Context) []pages.JobStatus {
	g := d.newest()
	defer g.release(d.log)
	return g.console.See(ctx, scrapeAge)
}
