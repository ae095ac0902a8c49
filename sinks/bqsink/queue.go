package bqsink

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"golang.org/x/time/rate"
)

// A mutex is a lock that is held during calls, so whoever waits for it can give up when the context
// ends.
type mutex chan struct{}

func newMutex() mutex { return make(mutex, 1) }

// lock waits for the lock, or returns the error of the context when that ends first.
func (t mutex) lock(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t mutex) unlock() { <-t }

// slots holds a slot for each partition that this process has put.
type slots struct {
	mu    sync.Mutex
	known map[string]*slot // by the destination of load jobs
}

// A slot is what this process knows of a partition's jobs. One Put at a time holds it, because two
// load jobs on one partition could land in either order.
type slot struct {
	mutex   mutex
	lease   string
	attempt int    // number of the lease's last job
	usedUp  bool   // no job of an earlier lease can change the partition any more
	unknown string // ID of the last job, if it isn't known whether it exists or how it ends; else empty
}

// acquire waits for the slot of a partition and returns it, reset if the lease is another one.
func (p *slots) acquire(ctx context.Context, at place, lease string) (*slot, error) {
	p.mu.Lock()
	if p.known == nil {
		p.known = map[string]*slot{}
	}
	s := p.known[at.destination()]
	if s == nil {
		s = &slot{mutex: newMutex()}
		p.known[at.destination()] = s
	}
	p.mu.Unlock()
	if err := s.mutex.lock(ctx); err != nil {
		return nil, err
	}
	if s.lease != lease {
		s.lease, s.attempt, s.usedUp = lease, 0, false
	}
	return s, nil
}

// commitsPerSecond keeps the jobs of a table below 50 modifications in 10 s, above which BigQuery
// refuses them (https://cloud.google.com/bigquery/quotas#partitioned_tables), and leaves some for a
// second process.
const commitsPerSecond = 4

// Together returns how many parts are worth putting at the same time: a load job takes seconds,
// however small it is.
func (s *Sink) Together() int { return commitsPerSecond }

// pace is a rate limiter for each table.
type pace struct {
	perSecond rate.Limit // jobs of a table in a second; commitsPerSecond when 0
	mu        sync.Mutex
	tables    map[string]*rate.Limiter
}

// wait blocks until a job that modifies the table may be submitted.
func (p *pace) wait(ctx context.Context, table string) error {
	p.mu.Lock()
	if p.tables == nil {
		p.tables = map[string]*rate.Limiter{}
	}
	l := p.tables[table]
	if l == nil {
		l = rate.NewLimiter(cmp.Or(p.perSecond, commitsPerSecond), 1)
		p.tables[table] = l
	}
	p.mu.Unlock()
	if err := l.Wait(ctx); err != nil {
		if ctx.Err() == nil { // the limiter knows that the deadline comes first, and returns an error of its own
			err = context.DeadlineExceeded
		}
		return fmt.Errorf("wait for a turn to commit to %s: %w", table, err)
	}
	return nil
}
