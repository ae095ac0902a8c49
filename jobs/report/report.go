// Package report turns csv_report answers into partitions. Without it, the tool's main job would not exist: a table per
// report, each of its days complete, typed, and replaced when the service restates it.
package report

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/sinks"
)

// Options describe one report job.
type Options struct {
	Job, Table string
	Run        string // the run's ID
	Account    string // part of the fingerprint: the account the numbers belong to

	Client  *adjust.Client
	Ledger  *jobs.Ledger
	Targets []jobs.Target

	Start func(today civil.Date) civil.Date // first day wanted
	Rules jobs.Rules                        // without Start

	Rebaseline bool // replace partitions of another meaning instead of refusing
	NewColumns bool // ask the service which columns events have by now: partitions may lack those too

	Query       adjust.ReportQuery // without From, Until, Splittable and the metrics of events
	Events      []Selector
	Warehouse   sinks.Schema // what the config says of tables: clustering, expiration and such; the rest is made here
	NullMissing bool         // a slug that vanished becomes a column of NULLs instead of an error
	Types       map[string]catalog.Type
	OnEmpty     jobs.OnEmpty
	Codec       string
	SpoolDir    string
	Budget      *table.Budget
	Log         *slog.Logger
}

// Slugs lists events: the part of the service that selectors are resolved against.
type Slugs interface {
	Events(ctx context.Context, q adjust.EventsQuery) ([]adjust.Event, error)
}

// Kind is the kind of a report job. It lives for one run.
type Kind struct {
	o     Options
	fixed []column
	table *jobs.Table
	rules jobs.Rules // as planned
	now   time.Time  // of the plan

	planned jobs.Shape

	mu      sync.Mutex // guards the resolution of events, which is done once, when first needed
	columns *columns
	trial   trial
}

// New checks the columns that are known without the service. Events are resolved when the first window is fetched.
func New(o Options) (*Kind, error) {
	fixed, err := fixedColumns(o)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w: %w", o.Job, jobs.ErrRefused, err)
	}
	return &Kind{o: o, fixed: fixed}, nil
}

// Plan reads the ledger and plans one unit a window. It asks nothing of the service, unless columns that older
// partitions lack are asked for, or a rebaseline, and some of them are events'. Windows that only lack columns come last,
// the newest first: what a table gets of an added metric never holds up the night's own work.
func (k *Kind) Plan(ctx context.Context, now time.Time) ([]jobs.Unit, error) {
	if err := k.settle(ctx, now); err != nil {
		return nil, err
	}
	var err error
	if k.rules.Changed, err = k.table.Look(ctx, k.o.Targets); err != nil {
		return nil, err
	}
	var units, wider []jobs.Unit
	for _, w := range jobs.PlanWindows(now, k.rules, k.table.Entries()) {
		u := jobs.Unit{Name: w.Name(), Window: w}
		if slices.ContainsFunc(w.Due, func(d jobs.Due) bool { return d.Reason != jobs.NewColumns }) {
			units = append(units, u)
		} else {
			wider = append(wider, u)
		}
	}
	slices.Reverse(wider)
	return append(units, wider...), nil
}

// Inspect says how the table is. It asks nothing of the service.
func (k *Kind) Inspect(ctx context.Context, now time.Time, past jobs.Past) (jobs.Inspection, error) {
	if err := k.settle(ctx, now); err != nil {
		return jobs.Inspection{}, err
	}
	return jobs.Inspect(now, k.o.Job, k.rules, k.table.Entries(), past), nil
}

// Rest says how many partitions lack columns once the plan has been done, also those of events that only a window has
// found.
func (k *Kind) Rest(ctx context.Context) (rest jobs.Rest, err error) {
	if k.table == nil {
		return rest, nil
	}
	rules, shape := k.rules, k.planned
	if k.columns != nil {
		shape = k.columns.shape
	}
	if rules.Stale, err = k.table.Stale(ctx, shape); err != nil {
		return rest, err
	}
	return jobs.RestOf(k.now, rules, k.table.Entries()), nil
}

// settle reads the ledger and completes the rules by what it holds.
func (k *Kind) settle(ctx context.Context, now time.Time) (err error) {
	if k.table, err = k.o.Ledger.Table(ctx, k.o.Table); err != nil {
		return err
	}
	recorded, known, err := k.table.LastShape(ctx)
	if err != nil {
		return err
	}
	shape, err := k.shape(ctx, recorded)
	if err != nil {
		return err
	}
	if known {
		if err := k.checkShape(recorded, shape); err != nil {
			return err
		}
		if holds(recorded, shape) && recorded.SameMeaning(shape) {
			k.trial.end()
		}
	}
	k.rules, k.now = k.o.Rules, now
	k.rules.Start = k.o.Start(civil.DateOf(now.In(k.rules.Location)))
	k.rules.Targets = k.o.Targets
	k.planned = shape
	k.rules.Stale, err = k.table.Stale(ctx, shape)
	return err
}

// shape is the table's, as far as it is known before a window is fetched: the columns of events are those of the record
// fetched last, and those that it must lack because the config didn't ask for them then, unless older partitions are to be
// held against today's.
func (k *Kind) shape(ctx context.Context, recorded jobs.Shape) (jobs.Shape, error) {
	if k.o.NewColumns || k.o.Rebaseline {
		cols, err := k.resolve(ctx, k.o.Client)
		if err != nil {
			return jobs.Shape{}, err
		}
		return cols.shape, nil
	}
	s := shapeOf(k.o, k.fixed)
	for _, selector := range k.o.Events {
		s.Columns = append(s.Columns, selector.expected(recorded)...)
	}
	return s, nil
}

// checkShape refuses a shape whose numbers mean something else, as far as this run isn't there to replace them.
func (k *Kind) checkShape(recorded, now jobs.Shape) error {
	if k.o.Rebaseline {
		return jobs.CheckRebaseline(k.o.Table, recorded, now)
	}
	return jobs.CheckShape(k.o.Table, recorded, now)
}

// Finish is called when a run has no more units of this job: it tidies the ledger.
func (k *Kind) Finish(ctx context.Context) error {
	if k.table == nil {
		return nil
	}
	return k.table.Fold(ctx)
}
