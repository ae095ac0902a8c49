// Package partition publishes fetched rows as a table's partitions: it puts them into the sinks
// first, and records them in the ledger then. Without it each kind of job would do the two in an
// order of its own, and a crash between them would leave numbers in a sink that no record explains.
//
//	answer ─ Converter ─▶ parts ─ Deliver ─┬─ Publish ─▶ put ─ record ─┬─▶ Outcome
//	                                       └──── one partition each ───┘
//
// A kind opens its Table, asks the sinks what they hold, plans windows with package refresh, and
// begins a window, which leases its partitions. It then fetches, converts, hands the Answer to
// Deliver, and ends the lease.
//
// Before that, Compare compares the sums of the parts with totals that the service itself gives, of
// whole partitions, for metrics that add up over all dimensions. How far a sum may be from its
// total depends on the metric. n is the number of cells that aren't zero, m that of the rows (or n
// if that is more), and a unit is one of the last decimal that the service writes:
//
//   - A count must be equal. One that has decimals may be off as money may, with units of 1.
//   - Money: the service rounds each amount by up to half a unit, in each row and once more in the
//     total. A sum may be off by 1.74*sqrt(n+1) units, which is six standard deviations, or by
//     (m+1)/2 units if that is less. When all prices are rounded the same way it may be off by up
//     to (m+1)/2 units, and a hundredth of the total; such a difference is recorded.
//   - Any other number may be off as money may, and besides by what adding doubles in another order
//     loses: 2^-52 of the sum and of the total for each row, and once more.
//   - A cohort column with a share of its own may be off by that share of the total, if that is
//     more, because authors of other clients saw totals drift by 1 to 14 % on small campaigns; such
//     a difference is recorded.
//
// A period without a total counts as zero.
package partition

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// Options describe a table on its way from a kind's answers to its sinks.
type Options struct {
	Ledger  *ledger.Ledger
	Name    string // of the table
	Targets []ledger.Target

	Job, Run string // for records and logs
	Codec    string // of the parts, as table.Options has it
	Pages    string // the version of the parts' data pages, as table.Options has it
	SpoolDir string // the folder for parts until they are put
	Hold     int    // as table.Options has it
	Budget   *table.Budget
	OnEmpty  OnEmpty
	FailText bool         // a text that a file or a sink can't hold is an error; otherwise it is altered
	Guard    float64      // as Publication has it
	Again    bool         // put whatever the ledger says the sinks hold, and over what others put there
	Drop     []string     // columns that a fetch may remove from the table
	Log      *slog.Logger // nil: nothing is logged

	// Warehouse is what the config says of the table; nil: its settings stay as they are.
	Warehouse *sinks.Schema

	derived bool // the table describes another one, whose rows don't depend on it
}

// A Table is a table of the ledger together with the sinks that hold its partitions. It is safe for
// concurrent use.
type Table struct {
	*ledger.Table
	o Options

	worked           atomic.Bool // a window was begun
	stale            atomic.Bool // a window was begun after the table was last read from the ledger
	beforeRebaseline beforeRebaseline

	mu       sync.Mutex
	listings map[string]listing       // what each target held when it was last listed, by the target's identity
	fitted   map[string]*sinks.Schema // the schema that each target's table can take, by the target's identity
}

// Open reads what the ledger holds of a table. It doesn't ask the targets for anything; FindChanged
// does.
func Open(ctx context.Context, o Options) (*Table, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	t, err := o.Ledger.Table(ctx, o.Name)
	return newTable(t, o), err
}

// newTable returns a table whose targets have not been listed yet.
func newTable(t *ledger.Table, o Options) *Table {
	return &Table{Table: t, o: o, listings: map[string]listing{}, fitted: map[string]*sinks.Schema{}}
}

// Begin leases the partitions of a window, and reads what other processes have recorded of them
// since the plan was made. The window that it returns lacks the partitions that are no longer due
// and those that no target would keep, and has the records that a fetch will replace. The error is
// a *ledger.HeldError when another run holds one of the partitions. When there is no error the
// caller must end the lease.
func (t *Table) Begin(ctx context.Context, w refresh.Window) (refresh.Window, *ledger.Lease, error) {
	t.worked.Store(true)
	if !t.Has() {
		if err := t.Refresh(ctx); err != nil {
			return w, nil, err
		}
	}
	t.stale.Store(true)
	var partitions []civil.Date
	for _, d := range w.Due {
		partitions = append(partitions, d.Partition)
	}
	l, err := t.Table.Begin(ctx, t.o.Run, partitions)
	if err != nil {
		return w, nil, err
	}
	still, err := t.dropTooOld(w.StillDue(t.Record))
	if err != nil {
		return w, nil, errors.Join(err, l.End(ctx))
	}
	return still, l, nil
}

// Refresh reads what other processes have recorded.
func (t *Table) Refresh(ctx context.Context) error {
	t.stale.Store(false)
	return t.Table.Refresh(ctx)
}

// Tidy ends the run's work on the table in the ledger, after reading what other processes have
// recorded meanwhile. A run that began no window has nothing to tidy: other processes tidy what
// they record themselves.
func (t *Table) Tidy(ctx context.Context) error {
	if t.stale.Load() {
		if err := t.Refresh(ctx); err != nil {
			return err
		}
	}
	if !t.worked.Load() && !t.Untidy() {
		return nil
	}
	return t.Table.Tidy(ctx)
}
