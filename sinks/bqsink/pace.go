package bqsink

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"golang.org/x/time/rate"
)

// commitsPerSecond keeps a table's jobs below 50 modifications in 10 s, at which BigQuery refuses them
// (https://cloud.google.com/bigquery/quotas#partitioned_tables); the rest is room for a second process.
const commitsPerSecond = 4

// pace holds one limiter for each table.
type pace struct {
	every  rate.Limit // per second; commitsPerSecond when 0
	mu     sync.Mutex
	tables map[string]*rate.Limiter
}

// wait waits until a job may be asked for that commits to the table.
func (p *pace) wait(ctx context.Context, table string) error {
	p.mu.Lock()
	if p.tables == nil {
		p.tables = map[string]*rate.Limiter{}
	}
	l := p.tables[table]
	if l == nil {
		l = rate.NewLimiter(cmp.Or(p.every, commitsPerSecond), 1)
		p.tables[table] = l
	}
	p.mu.Unlock()
	if err := l.Wait(ctx); err != nil {
		if ctx.Err() == nil { // the limiter looks ahead, and its error is one of its own
			err = context.DeadlineExceeded
		}
		return fmt.Errorf("wait for a turn to commit to %s: %w", table, err)
	}
	return nil
}
