package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// An Engine is what all runs of a process share. It is opened once.
type Engine struct {
	*Program
	Config *config.Config
	Ledger *ledger.Ledger // nil until OpenLedger
	Client *adjust.Client
	Token  transport.TokenSource // nil when the config names none, because no job needs it
	Budget *table.Budget         // of memory for rows, shared by all runs
	Bounds *jobs.Bounds          // shared by all runs
	Log    *slog.Logger

	Embedded *Embedded // the service in this process; nil when the config names another service

	mu       sync.Mutex // guards accounts, which sessions of several runs ask for
	accounts map[string]Account
	closers
}

// closers are called in reverse order when their owner is closed.
type closers []func() error

// onClose registers f to be called when the owner is closed. A Session embeds closers directly and
// through its Engine; the direct ones are used.
func (c *closers) onClose(f func() error) { *c = append(*c, f) }

// Close closes everything that was opened. It may be called again.
func (c *closers) Close() error {
	var errs []error
	for i := len(*c) - 1; i >= 0; i-- {
		errs = append(errs, (*c)[i]())
	}
	*c = nil
	return errors.Join(errs...)
}

// Open reads the config and opens the ledger. Nothing is asked of the service.
func (p *Program) Open(ctx context.Context, log *slog.Logger) (*Engine, error) {
	c, err := p.loadConfig()
	if err != nil {
		return nil, err
	}
	e, err := p.openService(c, log, p.Attended)
	if err != nil {
		return nil, err
	}
	if err := e.OpenLedger(ctx); err != nil {
		return nil, errors.Join(text.WithExitCode(err), e.Close())
	}
	return e, nil
}

// openService makes the client of the config's service, for commands that need no ledger. waits
// means that a person waits: the client then gives up after three attempts when nothing listens at
// the service's address.
func (p *Program) openService(c *config.Config, log *slog.Logger, waits bool) (*Engine, error) {
	for _, w := range c.Warnings {
		for line := range strings.SplitSeq(w.Error(), "\n") {
			log.Warn(line)
		}
	}
	e := &Engine{Program: p, Config: c, Log: log, Budget: table.NewBudget(table.DefaultBudget)}
	tries := 0
	if waits {
		tries = 3
	}
	own, err := e.newAccount(c.Service, tries)
	if err != nil {
		return nil, errors.Join(text.WithExitCode(err), e.Close())
	}
	e.Client, e.Token = own.Client, own.Token
	e.Bounds = jobs.NewBounds(e.Parallel())
	e.onClose(func() error { e.Client.CloseIdle(); return nil })
	if most := cmp.Or(c.Service.InFlight, transport.UsualInFlight); e.Task.count > most {
		log.Warn(fmt.Sprintf("%d tasks share %d reports at a time (in_flight), and take turns: more tasks are of no "+
			"use", e.Task.count, most))
	}
	return e, nil
}

// newAccount makes the client of an account, or of the service itself. An emulator in this process
// answers the client when the config says so. When nothing listens at the address, the client gives
// up after this many tries; 0 means as many as any request has.
func (e *Engine) newAccount(s config.Service, tries int) (a Account, err error) {
	o := adjust.Options{
		BaseURL: s.BaseURL, S2SURL: s.S2SURL, AccountID: s.AccountID, MaxURL: s.MaxURL,
		Options: transport.Options{
			Rate: s.Rate, Burst: s.Burst, InFlight: s.InFlight, Share: e.Task.share(), Attempts: s.Attempts,
			Reach: tries, Patience: s.Patience, MaxAnswer: int64(s.MaxAnswer),
			Logger: e.Log, UserAgent: "reportferry/" + e.Version,
		},
	}
	token, getenv := s.Token, e.getenv
	if s.Embedded {
		server := &Embedded{options: emulator.Options{Logger: e.Log, Seed: seedOf(s.Account)}}
		e.onClose(server.Close)
		o.BaseURL, o.HTTP, o.AccountID = "http://embedded", server.Client(), ""
		if e.Embedded == nil {
			e.Embedded = server
		}
		token, getenv = "${TOKEN}", func(string) string { return "embedded" }
	}
	switch {
	case token != "":
		if a.Token, err = transport.ParseToken(token, getenv); err != nil {
			return a, fmt.Errorf("%s: %w", tokenKey(s.Account), text.RefusedError(err))
		}
		o.Token = a.Token
	case s.BaseURL != "": // all jobs belong to accounts
		o.Token = tokenless{}
	default: // all jobs push to other hosts
		o.CostURL = s.CostURL
	}
	if e.Client != nil && !s.Embedded {
		a.Client = e.Client.Account(s.AccountID, a.Token, s.InFlight)
		return a, nil
	}
	a.Client, err = adjust.New(o)
	return a, err
}

// OpenLedger opens the ledger that the config names.
func (e *Engine) OpenLedger(ctx context.Context) (err error) {
	if err := e.Task.checkLasting(e.Config.Ledger); err != nil {
		return fmt.Errorf("ledger %w", err)
	}
	if err := e.Task.checkLasting(e.Config.Export); err != nil {
		return fmt.Errorf("export %w", err)
	}
	if err = checkRoot(e.Config); err == nil {
		e.Ledger, err = openLedger(ctx, e.Config, e.Task)
	}
	if err != nil {
		return fmt.Errorf("open the ledger: %w", text.RefusedError(err))
	}
	e.onClose(e.Ledger.Close)
	return nil
}

// openLedger opens the ledger in a bucket or a folder. It refuses mem://, where nothing outlives
// the process.
func openLedger(ctx context.Context, c *config.Config, t Task) (*ledger.Ledger, error) {
	rawURL := c.Ledger
	if strings.HasPrefix(rawURL, "mem:") {
		return nil, errors.New("mem:// is gone when the process ends; the smallest ledger is a folder: " +
			"file://./.reportferry")
	}
	b, err := bucket.Open(ctx, rawURL)
	if err != nil {
		return nil, err
	}
	name := sinks.Redact(rawURL)
	// The URL is relative to a folder other than the working directory.
	if here, err := bucket.Folder(name); err == nil && here != b.Dir() {
		name = "file://" + b.Dir()
	}
	return ledger.Open(ledger.Options{Store: b, URL: name, KeepHistory: time.Duration(c.KeepDays) * 24 * time.Hour,
		Lease: c.Lease, Task: t.name()}), nil
}

// NewRun begins the session of a run.
func (e *Engine) NewRun() *Session { return e.Session(ledger.NewRunID(time.Now())) }

// Session begins the session of the run with this ID. An empty ID is for a command that sends and
// records nothing.
func (e *Engine) Session(run string) *Session {
	s := &Session{Engine: e, RunID: run, Log: e.Log}
	if run != "" {
		s.Log = e.Log.With("run", run)
	}
	return s
}
