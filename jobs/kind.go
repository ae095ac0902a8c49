// Package jobs is the engine: it plans what is missing, claims it, has it done once, and remembers. Without it, every
// kind of job would have its own idea of what is done, and a crash or a second process would lose or double days.
package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// A Kind plans units of work. A Kind doesn't change: what one run finds out is in its Plan. Plans of several jobs are made
// at once.
type Kind interface {
	Plan(ctx context.Context, now time.Time) (Plan, error)
}

// A Plan is what a job would do now. Making one sends nothing to the service that changes anything, claims nothing, and
// writes at most shapes to the ledger.
type Plan struct {
	Units []Unit

	// Tidy is called once no more units are taken; nil: nothing to tidy.
	Tidy func(context.Context) error

	// Inspect says how the table is, by what the ledger holds when it is called and what the units have learnt. It asks
	// the service for nothing. Nil: the kind has no partitions.
	Inspect func(context.Context, ledger.Past) (refresh.Inspection, error)

	// Schema is the table's definition, for which it may ask the service. Nil: the kind has no partitions.
	Schema func(context.Context) (*sinks.Schema, error)

	shared bool // other tasks have the same plan, and begin with units other than the first own ones
	own    int
}

// A Unit is one piece of a plan, done under one claim. The runner claims it, does it, and repeats it after a failure or a
// crash: doing it twice equals doing it once.
type Unit struct {
	Name   string   // unique in the table; of a window: the first day of its grid cell
	Claims []string // names of the claims that it is done under, in the order of claiming; nil: Name alone

	Due      []refresh.Due // the partitions that it replaces, ascending; none for kinds without partitions
	Files    []string      // the files that it pushes, one after the other; none for kinds that push none
	Requests int           // reports that it asks for, unless the service is too slow for one of them

	Do func(context.Context, ledger.Hold) (ledger.Outcome, error)

	// Over tells without a claim whether another process has done the unit since it was planned. It saves tasks that come
	// to each other's units the half dozen calls of the ledger's bucket that a claim costs. Nil: only Do can tell.
	Over func(context.Context) (bool, error)
}

// size is how many windows a unit counts as: each of its files is one.
func (u Unit) size() int { return max(1, len(u.Files)) }

func (u Unit) claims() []string {
	if u.Claims == nil {
		return []string{u.Name}
	}
	return u.Claims
}

// A Job is a named entry of the config, ready to run.
type Job struct {
	Name    string
	Table   string // where its claims live
	Kind    Kind
	Targets []ledger.Target // where its partitions go
}

// Errors that change how a run goes on, and its exit code.
var (
	// ErrDenied: the service or a store refused the credentials; going on would only repeat that.
	ErrDenied = errors.New("access denied")
	// ErrStop: what one unit was refused for holds for every unit of the job; going on would only repeat that.
	ErrStop = errors.New("the job goes no further")
)
