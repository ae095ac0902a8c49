package partition

import (
	"context"
	"fmt"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
)

// takes checks that targets can take a part before it is recorded as in doubt: a put that is
// refused then leaves the rows and the ledger as they were. A schema that has fitted once isn't
// checked again.
func (t *Table) takes(ctx context.Context, p sinks.Part, targets []ledger.Target) error {
	for _, target := range targets {
		sink, keeps := target.Sink.(sinks.Taker)
		t.mu.Lock()
		known := t.fitted[target.Identity()] == p.Schema
		t.mu.Unlock()
		if !keeps || known {
			continue
		}
		if err := sink.Takes(ctx, p.Table, p.Schema); err != nil {
			return &SinkError{fmt.Errorf("put %s/dt=%s to %s: %w", sinks.Flat(p.Table), p.Partition, target.Name, err)}
		}
		t.mu.Lock()
		t.fitted[target.Identity()] = p.Schema
		t.mu.Unlock()
	}
	return nil
}
