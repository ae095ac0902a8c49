// Package jobs is the engine: it plans what is missing, has it done once, and remembers. Without
// it, every kind of job would have its own idea of what is done, and a crash or a second process
// would lose or double days.
//
// A kind turns the config of one job into a Plan, and the Runner works through the plans of all
// jobs:
//
//	config ─ Kind.Plan ─▶ Plan ─ units ─▶ Runner ─┬─── Unit.Do ──┬─▶ Result, exit code
//	                                              └ several at once ┘
//
// The README of this folder tells how restatement works and what the ledger looks like. The words
// of this tree, and the types that they name:
//
//	job         an entry of the config, ready to run: Job
//	kind        how a job does its work: Kind, in report, events, spend, sharing, apps
//	unit        what is done at a time: a window, the files of a job, the declared apps: Unit
//	partition   one period of a table, replaced whole: ledger.Record says what was fetched of it
//	window      one cell of the grid with the partitions of it that are due: refresh.Window. One
//	            request covers consecutive ones
//	part        the file of one partition: table.Part on its way, sinks.Part as a sink takes it
//	lease       the right to replace partitions, renewed while a unit is done: ledger.Lease
//	record      the commit point of a partition: ledger.Record
//	segment     one step of a push, in an object of its own
//	shape       what the numbers of a record mean: ledger.Shape, with its columns, ledger.Column
//	definition  a table's columns for the converter, the ledger and the sinks at once: partition.Definition
//	settled     of a partition: final, not restated any more (refresh.Rules.Settled)
//
//	catalog.Field   what is known of a metric or dimension of the service: type, unit, over what it adds up
//	table.Column    a column of the converter: where its cells come from, its type, whether it is a key
//	report.column   a table.Column and the event selector that chose it, while a report's columns are resolved
//	ledger.Column   a column as records remember it: its type as text, its source, its event
//	sinks.Column    a column of a table in a warehouse: type there, description, whether it may be NULL
//
//	files.Row       a row of a file that is pushed, as the file spells it
//	outbox.Record   a row that can be sent, by the ID and the content that tell it from others; with the kind's value
//	spend.Cost      the value of a row of ad spend, checked; sharing.Choice of one on third-party sharing
//	adjust.Spend    the same as the service takes it: one request; adjust.Sharing likewise
//	delivery        a record on its way: released by a segment, in flight, acknowledged by the service (outbox)
//	outbox.Task     what is to be done with one file
//	store.Push      what is on record of a file's name with one content; its segments say what became of its rows
//	store.Item      a record in the index of a push: 28 bytes
package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/reportferry/reportferry/internal/panics"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// A Kind plans units of work. A Kind doesn't change while it works: what one run finds out is in
// its Plan. Plans of several jobs are made concurrently.
type Kind interface {
	Plan(ctx context.Context, now time.Time) (Plan, error)
}

// A Plan is what a job would do now, with everything that the run has to know to do it. Making one
// leases nothing and changes nothing at the service.
type Plan struct {
	Units    []Unit
	Problems []ledger.Problem // known before anything is done
	Ending   Ending           // nil: nothing is to be done after the units
	Table    Table            // nil: the kind has no partitions
	Records  int              // how many of the ledger's records are in memory until Ending.Release
}

// An Ending is called when no unit of the plan is under way.
type Ending interface {
	// Finish brings up to date what depends on the table's records, and tidies up. It returns what
	// the run's record keeps of the table: a ledger.Result with only what status.Brief sets, and
	// with an outcome of only what was asked for besides the units. past has the run itself, as far
	// as it is known.
	Finish(ctx context.Context, done ledger.Outcome, past ledger.Past) (ledger.Result, error)

	// Release forgets what was read of the table. Units and Finish read again what they need.
	Release(ctx context.Context) error
}

// A Table answers questions about a job's table.
type Table interface {
	// Inspect returns the state of the table by the ledger's records and by what the units have
	// found out. It asks the service for nothing.
	Inspect(ctx context.Context, past ledger.Past) (refresh.Inspection, error)

	// Schema returns the table's definition in a warehouse, for which it may ask the service.
	Schema(ctx context.Context) (*sinks.Schema, error)
}

// A Unit is one piece of a plan. The runner does it once, and the unit itself leases what it is
// about to replace. After a failure or a crash the next run plans it again: doing it twice equals
// doing it once.
type Unit struct {
	Name   string // unique in the table; of a window: the first day of its grid cell
	Number int    // its index on the table's grid, the same in every process, by which several tasks share units

	Due      []refresh.Due // the partitions that it replaces, ascending; none for kinds without partitions
	Files    []string      // the files that it pushes, one after the other; none for kinds that push none
	Compares int           // how many final partitions it compares with the service's totals
	Requests int           // how many reports it asks for, unless the service is too slow for one of them

	// Do does the unit. The error is a *ledger.HeldError when another run holds it.
	Do func(context.Context) (ledger.Outcome, error)

	// More returns the units that came to light while this one was done, whether it failed or not.
	// The runner does them in the same run, after all that was planned. Nil: there are none.
	More func() []Unit
}

// size returns how many windows a unit counts as: each of its files is one.
func (u Unit) size() int { return max(1, len(u.Files)) }

// A Job is a named entry of the config, ready to run.
type Job struct {
	Name    string
	Table   string
	Account string // of the service; units of different accounts take turns; may be empty
	Kind    Kind
	Targets []ledger.Target // where its partitions go
}

// Errors that change how a run goes on, and its exit code.
var (
	// ErrDenied means that the service or a store refused the credentials; going on would only
	// repeat that.
	ErrDenied = errors.New("access denied")
	// ErrStop is a refusal of one unit that holds for every unit of the job; going on would only
	// repeat it.
	ErrStop = errors.New("the job goes no further")
	// ErrContract means that the service's columns aren't those of the table any more, and that the
	// job's contract freezes the table's columns.
	ErrContract = fmt.Errorf("%w, because contract: freeze allows a table no other columns", ErrStop)
)

// Planned is what a job would do now, or why that can't be said.
type Planned struct {
	Plan
	Err    error
	Others bool // the job wasn't planned, because it is other tasks' work

	several bool // several tasks share its units
}

// PlanJobs plans jobs, several at once, and returns their plans in order. Nothing is leased or
// done.
func PlanJobs(ctx context.Context, list []Job, now time.Time) []Planned {
	return planJobs(ctx, NewBounds(1), list, now, func(int) bool { return true })
}

// planJobs plans the jobs that own chooses, and marks the others as other tasks'.
func planJobs(ctx context.Context, b *Bounds, list []Job, now time.Time, own func(job int) bool) []Planned {
	plans := make([]Planned, len(list))
	var g sync.WaitGroup
	for i, job := range list {
		if !own(i) {
			plans[i].Others = true
			continue
		}
		g.Go(func() { plans[i] = planJob(ctx, b, job, now) })
	}
	g.Wait()
	return plans
}

// planJob plans a job. It keeps nothing of the job's table in memory when earlier plans keep much
// already.
func planJob(ctx context.Context, b *Bounds, job Job, now time.Time) (p Planned) {
	leave, err := enter(ctx, b.planning)
	if err != nil {
		return Planned{Err: err}
	}
	defer leave()
	p.Err = panics.Caught("plan "+job.Name, func() (err error) { p.Plan, err = job.Kind.Plan(ctx, now); return err })
	if p.Err != nil || p.Ending == nil {
		p.Records = 0
	} else if !b.keep(p.Records) {
		p.Records, p.Err = 0, p.Ending.Release(ctx)
	}
	return p
}

// windows counts the windows, or files, of units.
func windows(units []Unit) (n int) {
	for _, u := range units {
		n += u.size()
	}
	return n
}
