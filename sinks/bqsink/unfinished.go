package bqsink

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"cloud.google.com/go/bigquery"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"

	"github.com/reportferry/reportferry/sinks"
)

// settle waits until no job of an earlier run, nor of an earlier Put with an unknown outcome, can still change the place.
// It doesn't matter how those jobs end, because ours comes after them.
func (s *Sink) settle(ctx context.Context, at place) error {
	jobs, err := s.unfinished(ctx, at)
	if err != nil {
		return fmt.Errorf("look for unfinished jobs of earlier runs: %w", s.explain(err))
	}
	for _, job := range jobs {
		if err := s.wait(ctx, job); err != nil && !isJobError(err) {
			return fmt.Errorf("an earlier run's job is unfinished, and the new rows can't be loaded before it ends: %w; nothing was changed", err)
		}
	}
	return nil
}

// unfinished lists the jobs, of any run and any account, that may still change the place. An account that may not list the
// jobs of others lists its own. Jobs that another project pays for aren't found.
func (s *Sink) unfinished(ctx context.Context, at place) ([]*bigquery.Job, error) {
	jobs, err := s.list(ctx, at, true)
	var answer *googleapi.Error
	if errors.As(err, &answer) && reason(answer) == "accessDenied" {
		return s.list(ctx, at, false)
	}
	return jobs, err
}

func (s *Sink) list(ctx context.Context, at place, all bool) (found []*bigquery.Job, err error) {
	for _, state := range []bigquery.State{bigquery.Pending, bigquery.Running} { // in the order in which a job passes through them, so that none is missed
		var some []*bigquery.Job
		err := repeat(ctx, func() (err error) {
			jobs := s.client.Jobs(ctx)
			jobs.AllUsers, jobs.State = all, state
			some, err = s.landing(jobs, at)
			return err
		})
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

// landing picks the jobs whose labels name the place.
func (s *Sink) landing(jobs *bigquery.JobIterator, at place) (found []*bigquery.Job, err error) {
	for {
		job, err := jobs.Next()
		if errors.Is(err, iterator.Done) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		labels := labelsOf(job)
		if labels[ownLabel] == labelText(s.datasetLabel()) && labels[tableLabel] == labelText(at.table) && labels[partitionLabel] == at.label() {
			found = append(found, job)
		}
	}
}

// abandonTime bounds the calls that are made after a Put's context has ended. A process that gets SIGTERM has 10 s.
const abandonTime = 5 * time.Second

// abandon cancels a job that nobody waits for any more, and adds to the error what is known of the job's outcome. A job that
// went on could replace what the next holder of the lease has loaded meanwhile. job is nil when no answer told of it.
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
		return fmt.Errorf("%w; job %s is cancelled, %w", cause, id, sinks.ErrUnchanged)
	default:
		at.settled = true
		return fmt.Errorf("%w; job %s was done by then, so the new rows are visible; repeating the put is harmless", cause, id)
	}
}

// cancel requests the cancellation of the job and waits until the job is done.
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
				err = errors.New("it is still running")
			}
			return nil, err
		}
	}
}
