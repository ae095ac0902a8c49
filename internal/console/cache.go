package console

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
)

// A snapshot is what is known of some jobs, for one page.
type snapshot struct {
	now  time.Time
	past ledger.Past
	err  error // why the past couldn't be read, or not in whole
	jobs []JobStatus
}

// A JobStatus is what is known of one job.
type JobStatus struct {
	Job
	State    TableState
	Pushed   []outbox.File // the latest first; only of a job that pushes files
	Declared []App         // only of a job that keeps apps as declared
	Newest   time.Time     // end of the newest period that was fetched after its end; zero: there is none
	Success  time.Time     // of the last run without a failure; zero: none is known
	Err      error         // why nothing could be read about it; all else is empty then
}

// A cache keeps what was read for a while, so that many readers cost the ledger as much as one.
type cache struct {
	o    Options
	past cachedValue[ledger.Past]
	jobs []cachedValue[JobStatus] // in the order of Options.Jobs
}

// A cachedValue is a value that is read again when it is too old. Callers that ask at the same time
// wait for a single reading.
type cachedValue[T any] struct {
	stale atomic.Bool // the value has changed since it was read
	mu    sync.Mutex
	at    time.Time // when value and err were read; zero: not yet
	value T
	err   error
}

// get returns the value, and reads it first when it is older than age or has changed.
func (k *cachedValue[T]) get(now time.Time, age time.Duration, read func() (T, error)) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if stale := k.stale.Swap(false); stale || k.at.IsZero() || now.Sub(k.at) >= age || now.Before(k.at) {
		k.value, k.err = read()
		k.at = now
	}
	return k.value, k.err
}

func newCache(o Options) *cache {
	return &cache{o: o, jobs: make([]cachedValue[JobStatus], len(o.Jobs))}
}

// mostRunPages is how many runs are read, and have a page.
const mostRunPages = 100

// mostReads is how many jobs are read at once. Reading one mostly waits for the ledger's bucket.
const mostReads = 16

// See returns what is known of every job for callers other than pages, through the cache that pages
// use. It reads again what is older than age or has changed.
func (c *Console) See(ctx context.Context, age time.Duration) []JobStatus {
	return c.cache.read(ctx, age, nil).jobs
}

// Changed has the named jobs and the runs' records read again. It is called when these jobs were
// worked on, or when a run's record was written.
func (c *Console) Changed(names ...string) {
	c.cache.past.stale.Store(true)
	for i, j := range c.o.Jobs {
		if slices.Contains(names, j.Name) {
			c.cache.jobs[i].stale.Store(true)
		}
	}
}

// get returns what a page shows; nothing in it is older than the options allow.
func (c *cache) get(ctx context.Context, want func(Job) bool) snapshot {
	return c.read(ctx, c.o.Age, want)
}

// read reads the jobs that want chooses; nil: all. Reading goes on when ctx is cancelled, because
// others may wait for the result.
func (c *cache) read(ctx context.Context, age time.Duration, want func(Job) bool) snapshot {
	ctx = context.WithoutCancel(ctx)
	s := snapshot{now: c.o.Now()}
	s.past, s.err = c.past.get(s.now, age, func() (ledger.Past, error) { return c.o.Ledger.Past(ctx, mostRunPages) })
	all := make([]JobStatus, len(c.o.Jobs))
	g := &errgroup.Group{}
	g.SetLimit(mostReads)
	for i, j := range c.o.Jobs {
		if want != nil && !want(j) {
			continue
		}
		g.Go(func() error {
			all[i], _ = c.jobs[i].get(s.now, age, func() (JobStatus, error) { return statusOf(ctx, j, s.past), nil })
			return nil
		})
	}
	_ = g.Wait() // errors are in the statuses
	for _, j := range all {
		if j.Name != "" {
			s.jobs = append(s.jobs, j)
		}
	}
	return s
}

// statusOf reads the status of a job.
func statusOf(ctx context.Context, j Job, past ledger.Past) JobStatus {
	s := JobStatus{Job: j}
	switch {
	case j.Inspect != nil:
		s.State, s.Err = j.Inspect(ctx, past)
	case j.Files != nil:
		s.Pushed, s.Err = j.Files(ctx)
	case j.Apps != nil:
		s.Declared, s.Err = j.Apps(ctx)
	}
	if newest := s.State.Fresh.Newest; newest != nil {
		s.Newest = endOf(s, *newest)
	}
	if at := cmp.Or(past.SuccessOf(j.Name), s.State.Fresh.Success); at != nil {
		s.Success = *at
	}
	return s
}

// job returns the status of the named job; false when the config has none.
func (c *cache) job(ctx context.Context, name string) (snapshot, JobStatus, bool) {
	s := c.get(ctx, func(j Job) bool { return j.Name == name })
	if len(s.jobs) == 0 {
		return s, JobStatus{}, false
	}
	return s, s.jobs[0], true
}
