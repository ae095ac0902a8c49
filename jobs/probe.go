package jobs

import (
	"context"
	"fmt"

	"github.com/reportferry/reportferry/sinks"
)

// Probe writes, reads and deletes an object of its own in the ledger's bucket.
func (l *Ledger) Probe(ctx context.Context) error {
	if err := sinks.ProbeBucket(ctx, l.bucket, ""); err != nil {
		return fmt.Errorf("%w: probe %s: %w", ErrLedger, l.url, err)
	}
	return nil
}
