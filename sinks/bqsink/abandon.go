package bqsink

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"cloud.google.com/go/bigquery"
)

// abandonTime bounds what is still asked after a Put's context has ended: a process that is told to stop has 10 s.
const abandonTime = 5 * time.Second

// abandon cancels a job that nobody waits for any more, and adds to the error what is known of its outcome. A job that
// isn't cancelled could land long after, on top of what the next holder of the claim has loaded. The job is nil when no
// answer told of it.
func (s *Sink) abandon(ctx context.Context, at *slot, id string, job *bigquery.Job, cause error) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer stop()
	job, err := s.cancel(ctx, id, job)
	var failed *JobError
	switch {
	case err != nil:
		return fmt.Errorf("%w; the outcome of job %s is unknown (asked to cancel it: %w): the partition holds the old rows or the new "+
			"ones, whole; repeat the put, which waits for the job first", cause, id, s.explain(err))
	case errors.As(verdict(job), &failed):
		at.settled = true
		return fmt.Errorf("%w; job %s is cancelled, the old rows stay", cause, id)
	default:
		at.settled = true
		return fmt.Errorf("%w; job %s was done by then, so the new rows are visible; repeating the put is harmless", cause, id)
	}
}

// cancel asks for the job's end and waits for it.
func (s *Sink) cancel(ctx context.Context, id string, job *bigquery.Job) (*bigquery.Job, error) {
	asked := false
	for {
		var err error
		if job == nil {
			job, err = s.getJob(ctx, id)
		}
		if err == nil && !asked {
			err = job.Cancel(ctx)
			asked = err == nil
		}
		if err == nil {
			if _, err = job.Status(ctx); err == nil && done(job) {
				return job, nil
			}
		}
		err = plain(err)
		if hasStatus(err, http.StatusNotFound) || (err != nil && remedyFor(err) == nothing) {
			return nil, err
		}
		if ended := sleep(ctx, firstPoll); ended != nil {
			if err == nil {
				err = errors.New("it is still under way")
			}
			return nil, err
		}
	}
}
