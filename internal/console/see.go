package console

import (
	"context"
	"time"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
)

// Seen is what is known of a job, for those who don't read pages.
type Seen struct {
	Job
	Found   Look
	Pushed  []outbox.File // the latest first; of a job that pushes files
	Newest  time.Time     // end of the newest period that was fetched after its end; zero: there is none
	Success time.Time     // of the last run without a failure; zero: none is known
	Err     error         // it couldn't be looked at
}

// See looks at every job, through the cache that the pages have.
func (c *Console) See(ctx context.Context) (list []Seen) {
	s := c.cache.see(ctx, nil)
	for _, j := range s.jobs {
		one := Seen{Job: j.Job, Found: j.look, Pushed: j.files, Err: j.err}
		if day := j.look.Fresh.Newest; day != nil {
			one.Newest = endOf(j, *day)
		}
		if at := successOf(s.past, j); at != nil {
			one.Success = *at
		}
		list = append(list, one)
	}
	return list
}

func successOf(past ledger.Past, j seen) *time.Time {
	if at := past.SuccessOf(j.Name); at != nil {
		return at
	}
	return j.look.Fresh.Success
}
