// Package events keeps the account's event slugs, a snapshot a day. Without it nobody could say which events a slug
// stood for last month: the service knows only today's, and a renamed event takes its history along.
package events

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/sinks"
)

// Options describe one events job.
type Options struct {
	Job, Table string
	Run        string // the run's ID
	Account    string // part of the fingerprint: the account the events belong to

	Client  *adjust.Client
	Ledger  *jobs.Ledger
	Targets []jobs.Target
	Rules   jobs.Rules // Location, Schedule and what the command line asks; the rest is the kind's own

	Rebaseline bool // go on with other apps or another search than older snapshots have

	Apps      []string // only events of these apps
	Search    string   // a whole slug, or part of a name
	Codec     string
	SpoolDir  string
	Budget    *table.Budget
	Warehouse sinks.Schema // what the config says of tables
	Log       *slog.Logger
}

// Kind is the kind of an events job. It lives for one run.
type Kind struct {
	o     Options
	table *jobs.Table
	rules jobs.Rules // as planned
	now   time.Time  // of the plan
}

// New makes the kind. Nothing is asked of the service.
func New(o Options) *Kind { return &Kind{o: o} }

// Plan wants today's snapshot, and no other: what the events were yesterday can't be asked any more. So the first one of
// a day doesn't wait for the schedule; when that fires later, the snapshot is taken again.
func (k *Kind) Plan(ctx context.Context, now time.Time) ([]jobs.Unit, error) {
	rules, err := k.settle(ctx, now)
	if err != nil {
		return nil, err
	}
	if rules.Changed, err = k.table.Look(ctx, k.o.Targets); err != nil {
		return nil, err
	}
	for day := range rules.Changed {
		if day != rules.Start {
			k.o.Log.Warn("a sink holds another snapshot than was put, or none; it can't be taken again", "job", k.o.Job, "window", day.String())
		}
	}
	if _, taken := k.table.Entry(rules.Start); !taken {
		rules.IgnoreSchedule = true
	}
	var units []jobs.Unit
	for _, w := range jobs.PlanWindows(now, rules, k.table.Entries()) {
		units = append(units, jobs.Unit{Name: w.Name(), Window: w})
	}
	return units, nil
}

// Inspect says how the table is: gaps are the days since the first snapshot that have none.
func (k *Kind) Inspect(ctx context.Context, now time.Time, past jobs.Past) (jobs.Inspection, error) {
	rules, err := k.settle(ctx, now)
	if err != nil {
		return jobs.Inspection{}, err
	}
	return jobs.Inspect(now, k.o.Job, k.sinceFirst(rules), k.table.Entries(), past), nil
}

// sinceFirst are the rules for all days since the first snapshot.
func (k *Kind) sinceFirst(rules jobs.Rules) jobs.Rules {
	if all := k.table.Sorted(); len(all) > 0 {
		rules.Start = all[0].Partition
	}
	return rules
}

// Rest counts the days without a snapshot: none of them can be taken any more.
func (k *Kind) Rest(context.Context) (jobs.Rest, error) {
	if k.table == nil {
		return jobs.Rest{}, nil
	}
	return jobs.RestOf(k.now, k.sinceFirst(k.rules), k.table.Entries()), nil
}

// settle reads the ledger and gives the rules of a snapshot of today.
func (k *Kind) settle(ctx context.Context, now time.Time) (rules jobs.Rules, err error) {
	if k.table, err = k.o.Ledger.Table(ctx, k.o.Table); err != nil {
		return rules, err
	}
	recorded, known, err := k.table.LastShape(ctx)
	if err != nil {
		return rules, err
	}
	if known && !k.o.Rebaseline { // older snapshots keep their meaning all the same: they can't be taken again
		if err := jobs.CheckShape(k.o.Table, recorded, k.shape()); err != nil {
			return rules, err
		}
	}
	rules = k.o.Rules
	rules.Period, rules.Page, rules.Today, rules.Snapshots = jobs.Day, 1, true, true
	rules.Start = civil.DateOf(now.In(rules.Location))
	rules.Through = rules.Start // an older one that was interrupted can't be taken again
	rules.Targets = k.o.Targets
	k.rules, k.now = rules, now
	return rules, nil
}

// Finish is called when a run has no more units of this job: it tidies the ledger.
func (k *Kind) Finish(ctx context.Context) error {
	if k.table == nil {
		return nil
	}
	return k.table.Fold(ctx)
}

// shape is what the ledger keeps of the table's meaning.
func (k *Kind) shape() jobs.Shape {
	s := jobs.Shape{Fingerprint: map[string]string{
		"kind": "events", "account": k.o.Account, "apps": strings.Join(sorted(k.o.Apps), ","), "search": k.o.Search,
	}}
	for _, c := range columns {
		s.Columns = append(s.Columns, jobs.ShapeColumn{Name: c.Name, Type: c.Type.String(), Source: c.Source})
	}
	return s
}
