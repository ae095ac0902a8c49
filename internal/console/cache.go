package console

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
)

// A sight is what is known of some jobs, for one page.
type sight struct {
	now  time.Time
	past ledger.Past
	err  error // the past couldn't be read, or not in whole
	jobs []seen
}

// seen is what is known of one job.
type seen struct {
	Job
	look  Look
	files []outbox.File
	apps  []App
	err   error // it couldn't be looked at; look and files are empty then
}

// A cache keeps what was seen for a while, so that many readers cost the ledger as much as one.
type cache struct {
	o    Options
	past kept[ledger.Past]
	jobs []kept[seen] // as in Options
}

// kept is a value that is read again when it is too old. Those who ask at the same time wait for one reading.
type kept[T any] struct {
	mu    sync.Mutex
	at    time.Time
	value T
	err   error
}

// get gives the value, and reads it when it is older than age.
func (k *kept[T]) get(now time.Time, age time.Duration, read func() (T, error)) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at.IsZero() || now.Sub(k.at) >= age || now.Before(k.at) {
		k.value, k.err = read()
		k.at = now
	}
	return k.value, k.err
}

func newCache(o Options) *cache { return &cache{o: o, jobs: make([]kept[seen], len(o.Jobs))} }

// runs is how many runs are read: all that a ledger keeps.
const runs = 100

// readers is how many jobs are looked at at once. A look mostly waits for the ledger's bucket.
const readers = 16

// see looks at the jobs that want chooses; nil: at all. A reader who goes away doesn't spoil what others wait for, so the reading
// goes on without ctx's end.
func (c *cache) see(ctx context.Context, want func(Job) bool) sight {
	ctx = context.WithoutCancel(ctx)
	s := sight{now: c.o.Now()}
	s.past, s.err = c.past.get(s.now, c.o.Age, func() (ledger.Past, error) { return c.o.Ledger.Past(ctx, runs) })
	all := make([]seen, len(c.o.Jobs))
	g := &errgroup.Group{}
	g.SetLimit(readers)
	for i, j := range c.o.Jobs {
		if want != nil && !want(j) {
			continue
		}
		g.Go(func() error {
			all[i], _ = c.jobs[i].get(s.now, c.o.Age, func() (seen, error) { return look(ctx, j, s.past), nil })
			return nil
		})
	}
	_ = g.Wait() // errors are in what was seen
	for _, j := range all {
		if j.Name != "" {
			s.jobs = append(s.jobs, j)
		}
	}
	return s
}

func look(ctx context.Context, j Job, past ledger.Past) seen {
	s := seen{Job: j}
	switch {
	case j.Look != nil:
		s.look, s.err = j.Look(ctx, past)
	case j.Files != nil:
		s.files, s.err = j.Files(ctx)
	case j.Apps != nil:
		s.apps, s.err = j.Apps(ctx)
	}
	return s
}

// one looks at the job of a name; false when the config has none.
func (c *cache) one(ctx context.Context, name string) (sight, seen, bool) {
	s := c.see(ctx, func(j Job) bool { return j.Name == name })
	if len(s.jobs) == 0 {
		return s, seen{}, false
	}
	return s, s.jobs[0], true
}
