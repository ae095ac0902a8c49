package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/console"
	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/metrics"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// newServe makes the command serve.
func newServe(p *wire.Program) *cobra.Command {
	var health string
	var pages *console.Listening
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Stay, and run each job when its schedule fires",
		Long: `Stay, and run each job when its schedule fires, until SIGTERM: then take no more
windows, abort the open ones, record, and end with 0. At the start every job is
looked at once, so that a schedule which fired while nobody served is not lost.
A job that still runs when its schedule fires again is left alone: it does all
that is due anyway.

GET /healthz on a loopback address answers what each job did and does next, and
GET /metrics how fresh tables are, what they lack and what differs, for
Prometheus. A request for another host than localhost or such an address is
answered with 421, because a page in a browser may have sent it.

With --console the pages of the command console are shown too, by its rules.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			ctx := cmd.Context()
			newRunDisplay := func() *display {
				return newDisplay(p, cmd.OutOrStdout(), struct{ io.Writer }{cmd.ErrOrStderr()}) // hides the terminal, so that lines are written and no bars
			}
			e, err := p.Open(ctx, newRunDisplay().log)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, e.Close()) }()
			d, err := newDaemon(e, newRunDisplay)
			if err != nil {
				return exit.Coded(err)
			}
			s := e.Session("")
			defer func() { err = errors.Join(err, s.Close()) }()
			if health != "" {
				c, err := console.Of(s)
				if err != nil {
					return exit.Coded(err)
				}
				stop, err := d.serveHealth(ctx, health, metrics.Handler(c), cmd.ErrOrStderr())
				if err != nil {
					return exit.Coded(err)
				}
				defer stop()
			}
			if pages.On() {
				address, stop, err := pages.Show(ctx, s)
				if err != nil {
					return err
				}
				defer stop()
				fmt.Fprintf(cmd.ErrOrStderr(), "serving; the console is at %s\n", address)
			}
			d.run(ctx)
			return nil
		},
	}
	cmd.Flags().StringVar(&health, "health", "127.0.0.1:8081", "loopback `address` of /healthz; empty: none")
	pages = console.NewListening(cmd, "console", "console-", "", "`address` of the console's pages, such as 127.0.0.1:8082; empty: none")
	return cmd
}

// A daemon runs the jobs of a config by their schedules.
type daemon struct {
	engine  *wire.Engine
	display func() *display // makes a new one for each run
	jobs    []*scheduled
}

// scheduled is one job and the state that /healthz shows.
type scheduled struct {
	name     string
	schedule cron.Schedule

	mu      sync.Mutex
	running bool
	last    *look
}

// A look is the end of one run of a job that its schedule asked for.
type look struct {
	At   time.Time `json:"at"`
	Exit int       `json:"exit"`
}

// newDaemon finds the jobs that have a schedule; at least one must.
func newDaemon(e *wire.Engine, newDisplay func() *display) (*daemon, error) {
	d := &daemon{engine: e, display: newDisplay}
	for _, c := range e.Config.Jobs {
		schedule, err := refresh.ParseSchedule(c.Schedule, c.Zone)
		switch {
		case err != nil:
			return nil, fmt.Errorf("job %s: %w: %w", c.Name, ledger.ErrRefused, err)
		case schedule == nil:
			e.Log.Warn("the job has no schedule, so it runs only when asked for by name", "job", c.Name)
		default:
			d.jobs = append(d.jobs, &scheduled{name: c.Name, schedule: schedule})
		}
	}
	if len(d.jobs) == 0 {
		return nil, fmt.Errorf("%w: no job has a schedule, so there is nothing to serve", ledger.ErrRefused)
	}
	return d, nil
}

// run looks at every job at once and then whenever its schedule fires. It returns after ctx is done and the runs that this
// stopped have written their records.
func (d *daemon) run(ctx context.Context) {
	log := cronLog{d.engine.Log}
	c := cron.New(cron.WithLogger(log), cron.WithChain(cron.Recover(log), cron.SkipIfStillRunning(log)))
	var first sync.WaitGroup
	for _, s := range d.jobs {
		id := c.Schedule(s.schedule, cron.FuncJob(func() { d.look(ctx, s) }))
		first.Go(c.Entry(id).WrappedJob.Run) // with its chain, so that a firing in the meantime is skipped
	}
	c.Start()
	<-ctx.Done()
	d.engine.Log.Info("stopping")
	<-c.Stop().Done()
	first.Wait()
}

// look does one run of a job.
func (d *daemon) look(ctx context.Context, s *scheduled) {
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	s.running = true
	s.mu.Unlock()
	done := look{At: time.Now().UTC(), Exit: jobs.ExitFailed} // stays so when the run panics, which cron recovers from
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running, s.last = false, &done
	}()
	code, err := once(ctx, d.engine, request("schedule", []string{s.name}, wire.Ask{}, nil), d.display())
	done.Exit = code
	if err != nil {
		done.Exit = exit.CodeOf(err)
		d.engine.Log.Error("the job could not be run", "job", s.name, "status", err)
	}
}

// cronLog passes on what the scheduler logs. Its routine goes to debug; a skipped firing is worth a line.
type cronLog struct{ log *slog.Logger }

// Info passes on a skipped firing at level info, and everything else at level debug.
func (l cronLog) Info(msg string, args ...any) {
	level := slog.LevelDebug
	if msg == "skip" {
		level, msg = slog.LevelInfo, "the job still runs, so this firing of its schedule is skipped"
	}
	l.log.Log(context.Background(), level, msg, args...)
}

// Error passes on what a job panicked with.
func (l cronLog) Error(err error, msg string, args ...any) {
	l.log.Error("the scheduler: "+msg, append(args, "status", err)...)
}
