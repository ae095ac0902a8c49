package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/apps"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/blobsink"
	"github.com/reportferry/reportferry/sinks/bqsink"
)

// kinds lists every kind of job: one folder under jobs/ each.
var kinds = map[string]func(context.Context, *engine, config.Job) (jobs.Job, error){
	"report":  reportJob,
	"events":  eventsJob,
	"spend":   spendJob,
	"sharing": sharingJob,
	"apps":    appsJob,
}

// openers lists every sink by the schemes of its URLs: one folder under sinks/ each. Not mem://, which is gone when the
// process ends while the ledger says that it's done.
var openers = map[string]sinks.Opener{
	"file":   blobsink.Open,
	"gs":     blobsink.Open,
	"s3":     blobsink.Open,
	"azblob": blobsink.Open,

	"bigquery": bqsink.Open,
}

// An engine is everything that the commands share: opened once, closed once.
type engine struct {
	config *config.Config
	ledger *jobs.Ledger
	client *adjust.Client
	token  transport.TokenSource
	budget *table.Budget
	log    *slog.Logger
	task   task // what the platform says of this process

	embedded *emulator.Server // the service, when the config says so

	// Of one run:
	run   string
	ask   ask
	spool string // folder of its part files

	close []func() error
}

// forRun is the engine of a run of its own: what was opened once is shared, and closing it closes only what is the run's.
func (e *engine) forRun(a ask) *engine {
	r := *e
	r.run, r.ask, r.spool, r.close = jobs.NewRunID(time.Now()), a, "", nil
	return &r
}

// ask is what a command line asks beyond the config.
type ask struct {
	now, force    bool          // ignore the schedule, the ledger
	from, through civil.Date    // both valid: only the periods between
	only          []jobs.Reason // nil: whatever the reason
	rebaseline    bool          // replace partitions of another meaning
	stop          time.Time     // when to begin to end; zero: never
	newColumns    bool          // fetch partitions again that lack columns
	look          bool          // only read the ledger: sinks stay closed
	apps          []string      // apply these apps, and no others
	migrate       bool          // copy the template to apps again, though nothing differs
	tell          func(io.Writer, apps.Report)
	progress      io.Writer // of the run's display
	files         []string  // push these files, and no others
	showIDs       bool      // log devices whose records weren't taken
}

// open reads the config and opens the ledger. Nothing is asked of the service.
func open(ctx context.Context, f *flags, log *slog.Logger) (*engine, error) {
	e, err := openService(f, log)
	if err != nil {
		return nil, err
	}
	if err := e.openLedger(ctx); err != nil {
		return nil, errors.Join(coded(err), e.Close())
	}
	return e, nil
}

func (e *engine) openLedger(ctx context.Context) (err error) {
	if err := e.task.lasting(e.config.Ledger); err != nil {
		return fmt.Errorf("ledger %w", err)
	}
	if e.ledger, err = openLedger(ctx, e.config.Ledger); err != nil {
		return fmt.Errorf("open the ledger: %w", refused(err))
	}
	e.close = append(e.close, e.ledger.Close)
	return nil
}

// openService reads the config and makes the service's client, for commands that need no ledger.
func openService(f *flags, log *slog.Logger) (*engine, error) {
	c, err := config.Load(f.config, os.LookupEnv)
	if err != nil {
		return nil, &exitError{jobs.ExitUsage, err}
	}
	for _, w := range c.Warnings {
		log.Warn(w.Error())
	}
	e := &engine{config: c, log: log, task: f.task, budget: table.NewBudget(table.DefaultBudget)}
	if e.client, err = e.service(log); err != nil {
		return nil, errors.Join(coded(err), e.Close())
	}
	return e, nil
}

func openLedger(ctx context.Context, rawURL string) (*jobs.Ledger, error) {
	if strings.HasPrefix(rawURL, "mem:") {
		return nil, errors.New("mem:// is gone when the process ends; the smallest ledger is a folder: file://./.reportferry")
	}
	dir, err := blobsink.LocalDir(rawURL)
	if err != nil {
		return nil, err
	}
	bucket, err := blobsink.OpenBucket(ctx, rawURL)
	if err != nil {
		return nil, err
	}
	return jobs.OpenLedger(jobs.LedgerOptions{Bucket: bucket, Dir: dir, URL: sinks.Redact(rawURL)}), nil
}

// refused makes an error of opening something one of the config, unless it is one of permission.
func refused(err error) error {
	if jobs.Denied(err) {
		return err
	}
	return fmt.Errorf("%w: %w", jobs.ErrRefused, err)
}

// Close closes what was opened, in reverse order.
func (e *engine) Close() error {
	var errs []error
	for i := len(e.close) - 1; i >= 0; i-- {
		errs = append(errs, e.close[i]())
	}
	e.close = nil
	return errors.Join(errs...)
}

// service makes the client of the service, which is the emulator in this process when the config says so.
func (e *engine) service(log *slog.Logger) (*adjust.Client, error) {
	s := e.config.Service
	o := adjust.Options{
		BaseURL: s.BaseURL, S2SURL: s.S2SURL, AccountID: s.AccountID,
		Options: transport.Options{
			Rate: s.Rate, InFlight: s.InFlight, Share: e.task.share(), Attempts: s.Attempts, Patience: s.Patience,
			Logger: log, UserAgent: "reportferry/" + version(),
		},
	}
	token, getenv := s.Token, os.Getenv
	if s.Embedded {
		server, err := emulator.New(emulator.Options{Logger: log})
		if err != nil {
			return nil, fmt.Errorf("start the embedded service: %w", err)
		}
		e.close = append(e.close, server.Close)
		e.embedded = server
		o.BaseURL, o.HTTP = "http://embedded", server.Client()
		token, getenv = "${TOKEN}", func(string) string { return "embedded" }
	}
	var err error
	if o.Token, err = transport.ParseToken(token, getenv); err != nil {
		return nil, fmt.Errorf("service.token: %w", refused(err))
	}
	e.token = o.Token
	return adjust.New(o)
}

// jobs makes the jobs that are named, or all of them.
func (e *engine) jobs(ctx context.Context, names []string) ([]jobs.Job, error) {
	var list []jobs.Job
	chosen, err := e.choose(names)
	if err != nil {
		return nil, err
	}
	for _, c := range chosen {
		job, err := kinds[c.Kind](ctx, e, c)
		if err != nil {
			return nil, coded(err)
		}
		list = append(list, job)
	}
	return list, nil
}

// warn says which of the jobs that are named, or of all, do what is allowed and hardly meant. Unlike the config's own
// warnings these are for people who look: some depend on the day.
func (e *engine) warn(names []string) {
	chosen, _ := e.choose(names) // whoever made the jobs knows them
	for _, c := range chosen {
		if c.Report == nil {
			continue
		}
		if c.Report.Period == "whole" {
			e.log.Warn("no date among the dimensions: one partition, all", "job", c.Name)
		}
		location, err := reportZone(c)
		if err != nil {
			continue // which making the job says
		}
		today := civil.DateOf(time.Now().In(location))
		if start := c.Report.Start.On(today); start.After(today) {
			e.log.Warn(fmt.Sprintf("the start, %s, is still to come", start), "job", c.Name)
		}
	}
}

// choose gives the config's entries that are named, in the config's order.
func (e *engine) choose(names []string) ([]config.Job, error) {
	var known []string
	var chosen []config.Job
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	for _, c := range e.config.Jobs {
		known = append(known, c.Name)
		if len(names) == 0 || wanted[c.Name] {
			chosen = append(chosen, c)
			delete(wanted, c.Name)
		}
	}
	for n := range wanted {
		return nil, &exitError{jobs.ExitUsage, fmt.Errorf("no job %q in the config; it has %s", n, strings.Join(known, ", "))}
	}
	return chosen, nil
}
