// Package partition makes fetched rows the content of a table's partitions. Without it each kind would have an order of its
// own for putting and recording, and a crash between the two would leave numbers that nobody vouches for.
package partition

import (
	"context"
	"sync"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// A PTable is a table of the ledger together with the sinks that hold its partitions. It is safe for concurrent use.
type Table struct {
	*ledger.Table
	targets []ledger.Target

	mu   sync.Mutex
	seen map[string]listing // by the target's identity: what it showed when it was looked at
}

// Open reads what the ledger holds of a table. The targets aren't looked at before Look.
func Open(ctx context.Context, l *ledger.Ledger, name string, targets []ledger.Target) (*Table, error) {
	t, err := l.Table(ctx, name)
	return &Table{Table: t, targets: targets, seen: map[string]listing{}}, err
}

// StillDue reads what other processes have recorded since the plan was made, and gives the window without it, and with
// the records on which what is fetched now is to be published. Only under the window's claim nobody records more.
func (t *Table) StillDue(ctx context.Context, w refresh.Window) (refresh.Window, error) {
	if err := t.Refresh(ctx); err != nil {
		return refresh.Window{}, err
	}
	return w.StillDue(t.Records()), nil
}
