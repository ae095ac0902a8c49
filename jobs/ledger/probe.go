package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/reportferry/reportferry/sinks"
)

// Probe writes, reads and deletes an object of its own in the ledger's bucket.
func (l *Ledger) Probe(ctx context.Context) error {
	if err := sinks.ProbeBucket(ctx, l.bucket, ""); err != nil {
		return fmt.Errorf("%w: probe %s: %w", ErrBucket, l.url, err)
	}
	return nil
}

// Clock is the time by the clock of the ledger's store; false: a folder has none but this machine's.
func (l *Ledger) Clock(ctx context.Context) (now time.Time, known bool, err error) {
	if l.dir != "" {
		return time.Time{}, false, nil
	}
	now, err = l.now(ctx)
	return now, err == nil, err
}
