package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// aloneTime is how long the first query goes alone. A refusal comes within a second or two, because
// it needs no data; a query that takes longer isn't refused.
const aloneTime = 10 * time.Second

// A firstQuery makes the other queries of a run wait for the first one. All queries of a run are
// the same but for their days, so a query that the service refuses is sent once only, and not once
// for each request that may be in flight. The zero value is ready for use, and a nil one makes no
// query wait.
type firstQuery struct {
	mu      sync.Mutex
	begun   bool
	over    chan struct{} // closed when the others may go
	refusal error
}

// begin lets the first caller send at once, and the others when the first query has turned out to
// be accepted.
func (t *firstQuery) begin(ctx context.Context) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	refusal, first := t.refusal, !t.begun
	t.begun = true
	t.mu.Unlock()
	if refusal != nil {
		return refusal
	}
	if first {
		time.AfterFunc(aloneTime, t.end)
		return nil
	}
	select {
	case <-t.done():
	case <-ctx.Done():
		return ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refusal
}

// done is closed when the first query has turned out to be accepted, or goes on for long.
func (t *firstQuery) done() <-chan struct{} {
	if t == nil {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gate()
}

// gate returns the channel over, and makes it when it is first needed. The caller holds the lock.
func (t *firstQuery) gate() chan struct{} {
	if t.over == nil {
		t.over = make(chan struct{})
	}
	return t.over
}

// end lets the others go.
func (t *firstQuery) end() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun = true
	select {
	case <-t.gate():
	default:
		close(t.over)
	}
}

// answered takes the result of the first query. An error that queries for other days would get too
// becomes an error of the whole job; then callers that wait in begin go on waiting, until the
// runner cancels them.
func (t *firstQuery) answered(err error) error {
	if t == nil {
		return err
	}
	var refused *adjust.Error
	broken := errors.Is(err, jobs.ErrContract)
	if errors.As(err, &refused) && refused.AnyDays || broken {
		if !broken {
			err = fmt.Errorf("%w: %w", jobs.ErrStop, err)
		}
		t.mu.Lock()
		t.refusal = err
		t.mu.Unlock()
		return err
	}
	t.end()
	return err
}

// hasColumns tells whether the recorded shape has all columns of the new one, so that the service
// is known to accept them.
func hasColumns(recorded, now ledger.Shape) bool {
	return !slices.ContainsFunc(now.Columns, func(c ledger.Column) bool {
		return !slices.ContainsFunc(recorded.Columns, func(r ledger.Column) bool { return r.Source == c.Source })
	})
}
