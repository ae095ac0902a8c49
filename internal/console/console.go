// Package console shows what the ledger knows as pages: whether yesterday is there, which days are
// missing and why, where a file is stuck. Without it, only people who type commands would know.
//
//	ledger, history ──▶ Job.Inspect ──▶ snapshot ──▶ a view for each page ──▶ template ──▶ Handler, or Export to a bucket
//
// It reads and changes nothing, and asks the service for nothing. Every page has a path that ends
// in .html and links that are relative, so that the pages that a server gives are the files that
// Export writes.
package console

import (
	"context"
	"log/slog"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// Options say what is shown.
type Options struct {
	Ledger *ledger.Ledger
	Jobs   []Job            // in the config's order
	Again  string           // what a command on a page needs to find the same config: " --config FILE", or nothing
	Age    time.Duration    // how old what is shown may be; 0: five seconds
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger     // receives why a page couldn't be made. Nil: nothing is logged
}

// A Job is an entry of the config, as far as pages show it.
type Job struct {
	Name, Kind string
	Table      string         // in the ledger
	Sinks      []string       // URLs without what may be secret
	Zone       *time.Location // of its schedule; nil: it has none
	Days       *time.Location // in which its days begin and end; nil: Zone
	Schedule   cron.Schedule  // nil: it runs only when asked for by name

	// Inspect returns the state of the job's table. Nil: the job fills none.
	Inspect func(context.Context, ledger.Past) (TableState, error)

	Source, Rejects string // of files that it pushes, and of rows that weren't taken; URLs without what may be secret

	// Apps returns the apps that the job keeps as declared. Nil: it keeps none.
	Apps func(context.Context) ([]App, error)

	// Files returns the files that the job has pushed, or is about to. Nil: it pushes none.
	Files func(context.Context) ([]outbox.File, error)
}

// A TableState is what is known of a job's table at one moment.
type TableState struct {
	refresh.Inspection
	Due  []refresh.Due // what a run would fetch now
	Held int           // how many of these partitions a run has leased, so that a fetch may be under way
}

// A Console makes pages. It is safe for concurrent use.
type Console struct {
	o         Options
	cache     *cache
	histories map[string]*historyCache // by job
	pages     pageCache                // as a server gives them
}

// New makes a console. Nothing is read yet.
func New(o Options) *Console {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Age == 0 {
		o.Age = 5 * time.Second
	}
	c := &Console{o: o, cache: newCache(o), histories: map[string]*historyCache{}}
	for _, j := range o.Jobs {
		c.histories[j.Name] = &historyCache{}
	}
	return c
}

// asOf returns a console with the same options whose time stands still at t. Its cache is empty, so
// that all that it shows is read at once.
func (c *Console) asOf(t time.Time) *Console {
	o := c.o
	o.Now = func() time.Time { return t }
	return New(o)
}
