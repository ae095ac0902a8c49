// Package report turns csv_report answers into partitions. Without it, the tool's main job would
// not exist: a table per report, each of its days complete, typed, and replaced when the service
// restates it.
//
//	Plan ─ windows ─▶ do ─ resolve events ─┬─ fetch ─┬─ too slow: halve, or app by app ─┐
//	                                       │         └─ convert ◀───────────────────────┘
//	          totals of many windows ─────────── compare ─┬─ partition.Deliver
//	                                                      └─ ask both again, locate ─ partition.Deliver
//
// A new parameter of the query takes changes in two places: its declaration in config, and
// adjust.ReportQuery, which sends it. The columns are known from the config, except those of
// events: the service is asked for its events once a run, when the first window is fetched.
package report

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/civil"
	"golang.org/x/sync/semaphore"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/raw"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/slugs"
	"github.com/reportferry/reportferry/jobs/state"
	"github.com/reportferry/reportferry/jobs/status"
	"github.com/reportferry/reportferry/sinks"
)

// Options describe one report job.
type Options struct {
	Job, Table string
	Run        string // the run's ID
	Account    string // part of the fingerprint: the account the numbers belong to

	Client  *adjust.Client
	Ledger  *ledger.Ledger
	Targets []ledger.Target

	Start func(today civil.Date) civil.Date // first day wanted
	Rules refresh.Rules                     // without Start and FinalAfter

	States     string // prefix of the names of the tables that describe this one; empty: there are none
	FinalAfter int    // days after a period's end from which all columns are final; 0: as the catalogue says

	Drift      Drift
	Probe      bool     // inside the lookback, ask for totals first, and leave partitions whose totals haven't moved
	Rebaseline bool     // replace partitions of another meaning instead of refusing the config
	Drop       []string // columns to take out of partitions that have values in them
	NewColumns bool     // ask the service for today's events when planning, because partitions may lack columns of them

	Query         adjust.ReportQuery // without From, Until, Splittable and the metrics of events
	Events        []Selector
	SlugHistories []*slugs.History        // what the config's events jobs have seen of events that are gone
	Warehouse     sinks.Schema            // what the config says about tables: clustering, expiration and such
	NullMissing   bool                    // a slug that vanished becomes a column of NULLs instead of an error
	Types         map[string]catalog.Type // by the service's names, as catalog.ColumnName writes them
	Rename        map[string]string       // dimension or metric, as Query has it -> its column's name
	Frozen        bool                    // the job fails if the columns aren't those of the newest partition
	Stamps        []table.Stamp           // the columns about the fetch
	OnEmpty       partition.OnEmpty
	FailText      bool // as partition.Options has it
	// Visible lists the apps that the token shows, as the function Visible does; nil: there is no
	// list.
	Visible func(context.Context, *adjust.Client) ledger.Scope
	// Listed says that requests for rows name the apps that Visible lists.
	Listed bool
	// Guard is what partition.Options has under this name; 0: partition.UsualGuard.
	Guard     float64
	Reconcile Reconcile // empty: warn
	// Cohorts is the share of a total by which the sum over the rows may differ, for cohort
	// metrics.
	Cohorts  float64
	Codec    string
	Pages    string // the version of Parquet's data pages, as table.Options has it
	SpoolDir string // the folder for answers and parts until they are put
	Hold     int    // as table.Options has it
	Budget   *table.Budget
	Raw      *raw.Store // keeps the answers as they come; nil: they aren't kept
	Log      *slog.Logger
}

// Slugs is the part of the service's client that event selectors are resolved with.
type Slugs interface {
	Events(ctx context.Context, q adjust.EventsQuery) ([]adjust.Event, error)
}

// Kind is the kind of a report job.
type Kind struct {
	o     Options
	fixed []column // the columns that are known without the service, see fixedColumns
}

// A plan holds what one run knows about a report job.
type plan struct {
	*Kind
	now        time.Time
	table      *partition.Table
	states     *state.Tables // the tables that describe this one
	rules      refresh.Rules // Options.Rules, completed from the ledger
	knownShape ledger.Shape  // the table's shape, as far as it is known before its columns are resolved

	resolving *semaphore.Weighted // held to resolve events, which is done once, when first needed
	columns   atomic.Pointer[columns]
	due       map[civil.Date]bool // the partitions that were due or changed in a sink when the plan was made
	firstDue  civil.Date          // the first of the partitions that were due
	lastBrief ledger.Result       // what brief returned when the table was released
	scope     scope
	newTable  bool // the ledger had nothing about the table when the plan was made

	firstRows, firstTotals firstQuery // for the queries for rows, and those for totals, which come first

	mu       sync.Mutex
	blocks   map[string]*block // by columns and first day
	refused  []string          // apps that the service refuses
	reported []string          // refused apps that an error of the run has named
	// Totals that were asked for the other way than the rows: with the list of the service's apps,
	// or without it.
	totalsOtherWay map[civil.Date]table.Part
	endMeter       adjust.Meter // counts the requests after all units are done
}

// New checks the columns that are known without the service.
func New(o Options) (*Kind, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	fixed, err := fixedColumns(o)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w: %w", o.Job, ledger.ErrRefused, err)
	}
	return &Kind{o: o, fixed: fixed}, nil
}

// Plan reads the ledger and plans one unit for each window. It asks nothing of the service, except
// for the events when Options.NewColumns or Options.Rebaseline is set. Windows that only lack
// columns come last, the newest first, so that an added metric never delays the night's own work.
func (k *Kind) Plan(ctx context.Context, now time.Time) (jobs.Plan, error) {
	p, err := k.plan(ctx, now)
	if err != nil {
		return jobs.Plan{}, err
	}
	if p.rules.Changed, err = p.table.FindChanged(ctx); err != nil {
		return jobs.Plan{}, err
	}
	if k.o.Rebaseline {
		if err := p.table.LeftBefore(p.rules.Period.Start(p.rules.Start)); err != nil {
			return jobs.Plan{}, err
		}
	}
	if err := p.table.CheckOthers(ctx, p.knownShape, k.o.Rebaseline || k.o.Rules.IgnoreLedger); err != nil {
		return jobs.Plan{}, err
	}
	// Final partitions that an earlier check found moved are due.
	var checks refresh.DriftChecks
	if k.o.Drift.Days > 0 {
		if checks, err = k.readDriftChecks(ctx); err != nil {
			return jobs.Plan{}, err
		}
	}
	if !k.o.Drift.Warn {
		p.rules.Moved = checks.Moved()
	}
	// The windows that are due, and how many requests each takes.
	var units, widening []jobs.Unit // widening: those that only lack columns
	p.due = maps.Clone(p.rules.Changed)
	rebased, windows := 0, refresh.Plan(now, p.rules, p.table.Records())
	for _, w := range windows {
		for _, d := range w.Due {
			if p.due[d.Partition] = true; d.Reason == refresh.Rebased {
				rebased++
			}
		}
	}
	if len(windows) > 0 {
		p.firstDue = windows[0].Due[0].Partition
	}
	f, blocks := &fetch{plan: p, cols: p.withKept(k.define(k.fixed), p.knownShape)}, map[*block]bool{}
	for _, w := range windows {
		u := f.unit(w)
		if b := p.block([]civil.Date{w.Due[0].Partition}, f.cols); u.Requests > 0 && k.asksTotals() && !blocks[b] {
			blocks[b] = true
			u.Requests += f.requests(b.row, true) // for the totals of all windows of the block
			if k.o.Listed {
				u.Requests++ // once more for the same totals without the list of apps
			}
		}
		if slices.ContainsFunc(w.Due, func(d refresh.Due) bool { return d.Reason != refresh.NewColumns }) {
			units = append(units, u)
		} else {
			widening = append(widening, u)
		}
	}
	slices.Reverse(widening)
	units = append(units, widening...)
	if u, ok := p.watch(checks); ok {
		units = append(units, u)
	}
	if k.o.States != "" && rebased > 0 && k.o.Run != "" {
		k.o.Log.Warn("partitions are replaced by those of another meaning; until the run has ended, the views that "+
			"reportferry views makes have no rows of the table",
			"job", k.o.Job, "partitions", rebased)
	}
	return p.jobPlan(units), nil
}

// jobPlan returns the job's plan, made of these units.
func (p *plan) jobPlan(units []jobs.Unit) jobs.Plan {
	p.states = state.New(state.Tables{Prefix: p.o.States, Job: p.o.Job, Of: p.table, Ledger: p.o.Ledger,
		Warehouse: p.o.Warehouse, Rules: p.currentRules, Now: p.now})
	return jobs.Plan{Units: units, Ending: p, Table: p, Records: len(p.table.Records())}
}

// unit returns the unit of work for a window.
func (f *fetch) unit(w refresh.Window) jobs.Unit {
	p, requests := f.plan, 0
	for _, run := range w.Without(func(d refresh.Due) bool {
		return d.Reason == refresh.Dropped &&
			p.table.Reads()
	}).Runs() {
		requests += f.requests(run, false)
	}
	return jobs.Unit{
		Name: w.Name(), Number: p.rules.Number(w), Due: w.Due, Requests: requests,
		Do: func(ctx context.Context) (ledger.Outcome, error) { return p.do(ctx, w) },
	}
}

// Inspect returns the state of the table, in detail.
func (p *plan) Inspect(ctx context.Context, past ledger.Past) (in refresh.Inspection, err error) {
	if !p.table.Has() {
		if err = p.table.Refresh(ctx); err != nil {
			return in, err
		}
	}
	rules, err := p.allRules(ctx)
	if err != nil {
		return in, err
	}
	return status.Inspect(p.now, p.o.Job, "report", rules, p.table.Records(), past), nil
}

// brief returns the state of the table when it was last read, in short.
func (p *plan) brief(ctx context.Context, past ledger.Past) (ledger.Result, error) {
	if !p.table.Has() {
		p.lastBrief.Outcome.Measure(p.endMeter.Totals())
		return p.lastBrief, nil
	}
	rules, err := p.allRules(ctx)
	if err != nil {
		return ledger.Result{}, err
	}
	brief := status.Brief(p.now, p.o.Job, "report", rules, p.table.Records(), past, p.rules.Suspected)
	brief.Outcome.Measure(p.endMeter.Totals())
	return brief, nil
}

// Finish writes the state tables and tidies up. After the table's first run it warns when another
// app_scope would leave out less.
func (p *plan) Finish(ctx context.Context, done ledger.Outcome, past ledger.Past) (ledger.Result, error) {
	err := p.states.Finish(ctx, done)
	if ctx.Err() != nil {
		return ledger.Result{}, err
	}
	if p.newTable && p.scope.known && p.scope.err == nil {
		if said := p.scopingAdvice(ctx); said != "" {
			p.o.Log.Warn(said, "job", p.o.Job, "run", p.o.Run)
		}
	}
	p.sweep(ctx)
	if err != nil {
		return ledger.Result{}, err
	}
	return p.brief(ctx, past)
}

// Release frees the table's records. It first keeps what brief says about them.
func (p *plan) Release(ctx context.Context) (err error) {
	if p.lastBrief, err = p.brief(ctx, ledger.Past{}); err == nil {
		p.table.Release(p.due)
	}
	return err
}

// currentRules returns the rules for the table's columns as they are known by now: a window may
// have found columns of events since the plan was made.
func (p *plan) currentRules(ctx context.Context) (rules refresh.Rules, err error) {
	shape := p.knownShape
	if c := p.columns.Load(); c != nil {
		shape = c.Shape
	}
	rules = p.rules
	rules.FinalAfter = p.o.finalAfter(shape)
	rules.Stale, err = p.stale(ctx, shape)
	return rules, err
}

// allRules returns the current rules with all that is known about the partitions besides their
// records.
func (p *plan) allRules(ctx context.Context) (refresh.Rules, error) {
	rules, err := p.currentRules(ctx)
	rules.Stored, rules.Oldest, rules.Suspected = p.table.Stored(), p.table.Oldest(),
		refresh.Suspected(rules.Period, p.table.Records())
	if err != nil || !p.o.Drift.Warn {
		return rules, err
	}
	checks, err := p.readDriftChecks(ctx)
	rules.MovedButLeft = checks.Moved()
	return rules, err
}

// stale says, for each recorded shape, which of the table's columns it lacks, and whether it has
// columns that are dropped or renamed.
func (p *plan) stale(ctx context.Context, now ledger.Shape) (map[string]ledger.Stale, error) {
	stale, err := p.table.Stale(ctx, now)
	if err != nil {
		return stale, err
	}
	shapes, err := p.table.Shapes(ctx)
	for id, s := range shapes {
		for _, c := range s.Columns {
			if to := p.renamedTo(c); to != "" || slices.Contains(p.o.Drop, c.Name) {
				how := stale[id]
				how.Drops, how.Lacks = true, slices.DeleteFunc(how.Lacks, func(name string) bool { return name == to })
				stale[id] = how
			}
		}
	}
	return stale, err
}

// plan reads the ledger, completes the rules from it, and checks that the config may go on with the
// recorded table.
func (k *Kind) plan(ctx context.Context, now time.Time) (*plan, error) {
	p, recorded, known, err := k.open(ctx, now)
	if err != nil {
		return nil, err
	}
	if known {
		if err := k.checkShape(recorded, p.knownShape); err != nil {
			return nil, err
		}
		if err := p.checkContract(ctx, p.knownShape); err != nil {
			return nil, fmt.Errorf("%w: %w", ledger.ErrRefused, err)
		}
		if hasColumns(recorded, p.knownShape) && recorded.SameMeaning(p.knownShape) {
			if !k.o.Frozen { // if frozen, the header of the first answer decides whether the others are asked for
				p.firstRows.end()
			}
			p.firstTotals.end()
		}
	}
	p.warnOfLostSlugs(ctx, recorded)
	p.rules.Suspected = refresh.Suspected(p.rules.Period, p.table.Records())
	if p.rules.Stale, err = p.stale(ctx, p.knownShape); err != nil {
		return nil, err
	}
	return p, p.logEndedColumns(ctx)
}

// open reads the ledger. It also returns the shape that was recorded last, if one is known.
func (k *Kind) open(ctx context.Context, now time.Time) (p *plan, recorded ledger.Shape, known bool, err error) {
	p = &plan{Kind: k, now: now, rules: k.o.Rules, resolving: semaphore.NewWeighted(1), blocks: map[string]*block{}}
	if p.table, err = partition.Open(ctx, partition.Options{
		Ledger: k.o.Ledger, Name: k.o.Table, Targets: k.o.Targets, Job: k.o.Job, Run: k.o.Run, Codec: k.o.Codec,
		Pages: k.o.Pages, SpoolDir: k.o.SpoolDir, Hold: k.o.Hold,
		Budget: k.o.Budget, OnEmpty: k.o.OnEmpty, FailText: k.o.FailText,
		Guard: cmp.Or(k.o.Guard, partition.UsualGuard), Again: k.o.Rules.IgnoreLedger,
		Drop: k.o.Drop, Log: k.o.Log, Warehouse: &k.o.Warehouse,
	}); err != nil {
		return nil, recorded, false, err
	}
	if recorded, known, err = p.table.LastShape(ctx); err != nil {
		return nil, recorded, known, err
	}
	if p.knownShape, err = p.shape(ctx, recorded); err != nil {
		return nil, recorded, known, err
	}
	p.newTable = !known
	p.rules.Start = k.o.Start(civil.DateOf(now.In(p.rules.Location)))
	p.rules.Targets = k.o.Targets
	p.rules.FinalAfter = k.o.finalAfter(p.knownShape)
	return p, recorded, known, nil
}

// shape returns the table's shape, as far as it is known before a window is fetched. It asks the
// service only when older partitions are to be compared with today's events. Otherwise the columns
// of events are those of the last recorded shape, and those that this must lack because the config
// didn't ask for them then.
func (p *plan) shape(ctx context.Context, recorded ledger.Shape) (ledger.Shape, error) {
	if p.o.NewColumns || p.o.Rebaseline {
		cols, err := p.resolve(ctx, p.o.Client)
		if err != nil {
			return ledger.Shape{}, err
		}
		return cols.Shape, nil
	}
	s := shapeOf(p.o, p.fixed)
	for _, selector := range p.o.Events {
		s.Columns = append(s.Columns, selector.expected(recorded)...)
	}
	for _, c := range p.o.stamps() {
		s.Columns = append(s.Columns, ledger.Column{Name: c.Name, Type: c.Type.String(), Stamp: string(c.Stamp)})
	}
	return s, nil
}

// checkShape refuses a shape whose numbers mean something else than the recorded ones, unless this
// run is a rebaseline, which replaces them.
func (k *Kind) checkShape(recorded, now ledger.Shape) error {
	if k.o.Rebaseline {
		return ledger.CheckRebaseline(k.o.Table, recorded, now)
	}
	return ledger.CheckShape(k.o.Table, recorded, now)
}
