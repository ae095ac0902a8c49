// Package events keeps the account's event slugs, a snapshot a day. Without it nobody could say
// which events a slug stood for last month: the service knows only today's, and a renamed event
// takes its history along.
//
// A day's snapshot can be taken on that day alone, so this kind plans today and no other day, and a
// missed day stays a gap. It is the smallest kind with partitions: the one to copy.
package events

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/state"
	"github.com/reportferry/reportferry/jobs/status"
	"github.com/reportferry/reportferry/sinks"
)

// Options describe one events job.
type Options struct {
	Job, Table string
	Run        string // the run's ID
	Account    string // part of the fingerprint: the account the events belong to

	Client  *adjust.Client
	Ledger  *ledger.Ledger
	Targets []ledger.Target
	Rules   refresh.Rules // Location, Schedule and what the command line asks; the rest is the kind's own

	States     string // prefix of the names of the tables that describe this one; empty: there are none
	Rebaseline bool   // go on with other apps or another search than older snapshots have

	Apps      []string // only events of these apps
	Search    string   // a whole slug, or part of a name
	Codec     string
	Pages     string // the version of Parquet's data pages, as table.Options has it
	SpoolDir  string
	Budget    *table.Budget
	Warehouse sinks.Schema // what the config says of tables
	Log       *slog.Logger
}

// Kind is the kind of an events job.
type Kind struct{ o Options }

// A plan is what one run knows of an events job.
type plan struct {
	*Kind
	now    time.Time
	table  *partition.Table
	states *state.Tables // the tables that describe this one
	rules  refresh.Rules // of a snapshot of today
}

// New makes the kind, and refuses a table that a sink can't keep. Nothing is asked of the service.
func New(o Options) (*Kind, error) {
	k := &Kind{o: o}
	if err := partition.Fits(o.Targets, o.Table, k.definition().Schema); err != nil {
		return nil, fmt.Errorf("job %s: %w: %w", o.Job, ledger.ErrRefused, err)
	}
	return k, nil
}

// Plan plans today's snapshot, and no other. The first one of a day doesn't wait for the schedule;
// when the schedule is due later on that day, the snapshot is taken again.
func (k *Kind) Plan(ctx context.Context, now time.Time) (jobs.Plan, error) {
	p, err := k.plan(ctx, now)
	if err != nil {
		return jobs.Plan{}, err
	}
	rules := p.rules
	if rules.Changed, err = p.table.FindChanged(ctx); err != nil {
		return jobs.Plan{}, err
	}
	if err := p.table.CheckOthers(ctx, k.shape(), k.o.Rebaseline || k.o.Rules.IgnoreLedger); err != nil {
		return jobs.Plan{}, err
	}
	for day := range rules.Changed {
		if day != rules.Start {
			k.o.Log.Warn("a sink holds another snapshot than was put, or none; it can't be taken again", "job", k.o.Job,
				"window", day.String())
		}
	}
	if _, taken := p.table.Record(rules.Start); !taken {
		rules.IgnoreSchedule = true
	}
	today := func(context.Context) (refresh.Rules, error) { return p.rules, nil }
	p.states = state.New(state.Tables{Prefix: k.o.States, Job: k.o.Job, Of: p.table, Ledger: k.o.Ledger,
		Warehouse: k.o.Warehouse, Rules: today, Now: now})
	plan := jobs.Plan{Ending: p, Table: p}
	for _, w := range refresh.Plan(now, rules, p.table.Records()) {
		plan.Units = append(plan.Units, jobs.Unit{
			Name: w.Name(), Number: rules.Number(w), Due: w.Due, Requests: len(w.Runs()),
			Do: func(ctx context.Context) (ledger.Outcome, error) { return p.do(ctx, w) },
		})
	}
	return plan, nil
}

// Inspect returns the state of the table. Its gaps are the days without a snapshot since the first
// one; those of past days stay, because nothing can fill them.
func (p *plan) Inspect(_ context.Context, past ledger.Past) (refresh.Inspection, error) {
	rules := p.rules
	if all := p.table.Sorted(); len(all) > 0 {
		rules.Start = all[0].Partition
	}
	return status.Inspect(p.now, p.o.Job, "events", rules, p.table.Records(), past), nil
}

// Finish writes the state tables and tidies up.
func (p *plan) Finish(ctx context.Context, done ledger.Outcome, past ledger.Past) (ledger.Result, error) {
	if err := p.states.Finish(ctx, done); err != nil {
		return ledger.Result{}, err
	}
	in, err := p.Inspect(ctx, past)
	return ledger.Result{Rest: in.Rest, Newest: in.Fresh.Newest, Problems: in.Problems,
		Stored: p.table.Records().Stored()}, err
}

// Release forgets nothing: a table of snapshots is small.
func (p *plan) Release(context.Context) error { return nil }

// Schema returns the schema that all tables of this kind have.
func (p *plan) Schema(context.Context) (*sinks.Schema, error) { return p.definition().Schema, nil }

// plan reads the ledger and makes the rules of a snapshot of today.
func (k *Kind) plan(ctx context.Context, now time.Time) (p *plan, err error) {
	p = &plan{Kind: k, now: now, rules: k.o.Rules}
	if p.table, err = partition.Open(ctx, partition.Options{
		Ledger: k.o.Ledger, Name: k.o.Table, Targets: k.o.Targets, Job: k.o.Job, Run: k.o.Run, Codec: k.o.Codec,
		Pages: k.o.Pages, SpoolDir: k.o.SpoolDir,
		Budget: k.o.Budget, OnEmpty: partition.GuardEmpty, Again: k.o.Rules.IgnoreLedger, Log: k.o.Log,
		Warehouse: &k.o.Warehouse,
	}); err != nil {
		return nil, err
	}
	recorded, known, err := p.table.LastShape(ctx)
	if err != nil {
		return nil, err
	}
	if known && !k.o.Rebaseline { // older snapshots keep their meaning all the same: they can't be taken again
		if err := ledger.CheckShape(k.o.Table, recorded, k.shape()); err != nil {
			return nil, err
		}
	}
	r := &p.rules
	r.Period, r.Page, r.Today, r.Snapshots = refresh.Day, 1, true, true
	r.Start = civil.DateOf(now.In(r.Location))
	r.Through = r.Start // an older one that was interrupted can't be taken again
	r.Targets = k.o.Targets
	return p, nil
}

// shape returns what the ledger keeps of the table's meaning.
func (k *Kind) shape() ledger.Shape {
	s := ledger.Shape{Fingerprint: map[string]string{
		"kind": "events", "account": k.o.Account, "apps": strings.Join(sorted(k.o.Apps), ","), "search": k.o.Search,
	}}
	for _, c := range columns {
		s.Columns = append(s.Columns, ledger.Column{Name: c.Name, Type: c.Type.String(), Source: c.Source})
	}
	return s
}
