package jobs

import (
	"context"
	"sync"
)

// A PTable is a table of the ledger together with the sinks that hold its partitions. It is safe for concurrent use.
type PTable struct {
	*Table
	targets []Target

	mu   sync.Mutex
	seen map[string]listing // by the target's identity: what it showed when it was looked at
}

// OpenPTable reads what the ledger holds of a table. The targets aren't looked at before Look.
func OpenPTable(ctx context.Context, l *Ledger, name string, targets []Target) (*PTable, error) {
	t, err := l.Table(ctx, name)
	return &PTable{Table: t, targets: targets, seen: map[string]listing{}}, err
}

// StillDue reads what other processes have recorded since the plan was made, and gives the window without it, and with
// the records on which what is fetched now is to be published. Only under the window's claim nobody records more.
func (t *PTable) StillDue(ctx context.Context, w Window) (Window, error) {
	if err := t.Refresh(ctx); err != nil {
		return Window{}, err
	}
	return w.StillDue(t.Entries()), nil
}
