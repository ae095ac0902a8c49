// Package partition makes fetched rows the content of a table's partitions. Without it each kind would have an order of its
// own for putting and recording, and a crash between the two would leave numbers that nobody vouches for.
package partition

import (
	"context"
	"log/slog"
	"sync"

	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// Options describe a table on its way from a kind's answers to its sinks.
type Options struct {
	Ledger  *ledger.Ledger
	Name    string // of the table
	Targets []ledger.Target

	Job, Run string // for records and logs
	Codec    string // of the parts, as table.Options has it
	SpoolDir string
	Budget   *table.Budget
	OnEmpty  OnEmpty
	Again    bool         // put whatever the ledger says the sinks hold, and over what others put there
	Log      *slog.Logger // nil: nothing is logged
}

// A Table is a table of the ledger together with the sinks that hold its partitions. It is safe for concurrent use.
type Table struct {
	*ledger.Table
	o Options

	mu   sync.Mutex
	seen map[string]listing // by the target's identity: what it showed when it was looked at
}

// Open reads what the ledger holds of a table. The targets aren't looked at before Look.
func Open(ctx context.Context, o Options) (*Table, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	t, err := o.Ledger.Table(ctx, o.Name)
	return &Table{Table: t, o: o, seen: map[string]listing{}}, err
}

// StillDue reads what other processes have recorded since the plan was made, and gives the window without it, and with
// the records on which what is fetched now is to be published. Only under the window's claim nobody records more.
func (t *Table) StillDue(ctx context.Context, w refresh.Window) (refresh.Window, error) {
	if err := t.Refresh(ctx); err != nil {
		return refresh.Window{}, err
	}
	return w.StillDue(t.Records()), nil
}
