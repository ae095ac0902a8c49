// Package partition makes fetched rows the content of a table's partitions. Without it each kind
// would put and record in an order of its own, and a crash between the two would leave numbers that
// nobody vouches for.
//
//	answer ─ Converter ─▶ parts ─ Deliver ─┬─ Publish ─▶ put ─ record ─┬─▶ Outcome
//	                                       └──── one partition each ───┘
//
// A kind opens its Table, asks the sinks what they hold, plans windows with package refresh, and
// begins a window, which leases its partitions. It then fetches, converts, hands the Answer to
// Deliver, and ends the lease.
//
// Before that, Compare holds the parts against totals that the service itself gives: of whole
// partitions, for metrics that add up over all dimensions. A count must be equal. The service
// rounds each amount of money that it writes by up to half a unit of its last decimal, in each row
// and once more in the total. Of n cells that aren't zero that comes to 1.74 units times the root
// of n, six standard deviations, or to half a unit for each row and one if that is less; so far a
// sum may be from its total. When all prices are rounded the same way it is more: up to half a unit
// for each row and one, and a hundredth of the total, which is recorded. Any other number may
// differ by as much, and besides by what adding so many doubles in another order can lose: 2^-52 of
// the sum and of the total for each of them. A period without a total counts as zero. Columns with
// a share of their own, which are those of cohorts, may differ by that besides, because authors of
// other clients saw their totals drift by 1 to 14 % on small campaigns; such a difference is
// recorded.
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
	Pages    string // likewise
	SpoolDir string
	Hold     int // as table.Options has it
	Budget   *table.Budget
	OnEmpty  OnEmpty
	FailText bool         // texts that a file or a sink can't hold are errors, and aren't altered
	Guard    float64      // as Publication has it
	Again    bool         // put whatever the ledger says the sinks hold, and over what others put there
	Drop     []string     // columns that a fetch may take away
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

	worked atomic.Bool // a window was begun
	stale  atomic.Bool // and the table wasn't read since
	notice notice

	mu     sync.Mutex
	seen   map[string]listing       // by the target's identity: what it showed when it was looked at
	fitted map[string]*sinks.Schema // by the same: which schema its table can take
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

func newTable(t *ledger.Table, o Options) *Table {
	return &Table{Table: t, o: o, seen: map[string]listing{}, fitted: map[string]*sinks.Schema{}}
}

// Begin leases the partitions of a window, and reads what other processes have recorded of them
// since the plan was made. It gives the window without that and without what no target would keep,
// and with the records that a fetch is to replace. The error is a *ledger.HeldError when another
// run works on one of them. Without one the caller ends the lease.
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
	still, err := t.kept(w.StillDue(t.Record))
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

// Tidy ends the run's work on the table in the ledger, and reads what others have done meanwhile. A
// run that took no window has left nothing to tidy, and what others record they do.
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
