// Package report turns csv_report answers into partitions. Without it, the tool's main job would not exist: a table per
// report, each of its days complete, typed, and replaced when the service restates it.
package report

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
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

	Query       adjust.ReportQuery // without From, Until, Splittable and the metrics of events
	Events      []Selector
	NullMissing bool // a slug that vanished becomes a column of NULLs instead of an error
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

	mu      sync.Mutex // guards the resolution of events, which is done once, when first needed
	columns *columns
}

// New checks the columns that are known without the service. Events are resolved when the first window is fetched.
func New(o Options) (*Kind, error) {
	fixed, err := fixedColumns(o)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w: %w", o.Job, jobs.ErrRefused, err)
	}
	return &Kind{o: o, fixed: fixed}, nil
}

// Plan reads the ledger and plans one unit a window. It asks nothing of the service.
func (k *Kind) Plan(ctx context.Context, now time.Time) ([]jobs.Unit, error) {
	var err error
	if k.table, err = k.o.Ledger.Table(ctx, k.o.Table); err != nil {
		return nil, err
	}
	recorded, known, err := k.table.LastShape(ctx)
	if err != nil {
		return nil, err
	}
	if known {
		if err := jobs.CheckShape(k.o.Table, recorded, shapeOf(k.o, k.fixed)); err != nil {
			return nil, err
		}
	}
	rules := k.o.Rules
	for _, target := range k.o.Targets {
		rules.Sinks = append(rules.Sinks, target.Name)
	}
	rules.Start = k.o.Start(civil.DateOf(now.In(rules.Location)))
	var units []jobs.Unit
	for _, w := range jobs.PlanWindows(now, rules, k.table.Entries()) {
		units = append(units, jobs.Unit{Name: w.Cell.String(), Window: w})
	}
	return units, nil
}

// Finish is called when a run has no more units of this job: it tidies the ledger.
func (k *Kind) Finish(ctx context.Context) error {
	if k.table == nil {
		return nil
	}
	return k.table.Fold(ctx)
}
