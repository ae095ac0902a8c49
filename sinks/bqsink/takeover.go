package bqsink

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"cloud.google.com/go/bigquery"

	"github.com/reportferry/reportferry/sinks"
)

// useUpAll makes sure that no job of an earlier lease, nor one of this process with an unknown
// outcome, can change the partition any more. It does so by using up their IDs and waiting for the
// jobs that exist. It doesn't matter how those end, because ours comes after them.
func (s *Sink) useUpAll(ctx context.Context, at place, slot *slot, earlier []string) error {
	if slot.unknown != "" {
		if _, err := s.useUp(ctx, at, slot.lease, slot.unknown); err != nil {
			return err
		}
		slot.unknown = ""
	}
	if slot.usedUp {
		return nil
	}
	for _, lease := range earlier {
		if err := s.useUpNext(ctx, at, slot.lease, strings.ToLower(lease)); err != nil {
			return err
		}
	}
	slot.usedUp = true
	return nil
}

// useUpNext uses up the first ID of an earlier lease that is free. A process with that lease can't
// make a job any more: it uses its IDs one after the other, and stops at one that others have
// taken.
func (s *Sink) useUpNext(ctx context.Context, at place, by, lease string) error {
	for attempt := 1; ; attempt++ {
		job, err := s.useUp(ctx, at, by, s.jobID(at, lease, attempt))
		if err != nil || job == nil {
			return err
		}
		if who := labelsOf(job)[usedLabel]; who != "" && who != labelText(lease) {
			return nil
		}
	}
}

// useUp gives a job's ID to a job that does nothing, so that a request for the ID that is still
// under way, or is sent by a process that was suspended, is refused. If a job has the ID already,
// useUp returns that job after it has ended; if the ID was free, it returns nil.
func (s *Sink) useUp(ctx context.Context, at place, by, id string) (job *bigquery.Job, err error) {
	labels := map[string]string{
		ownLabel: labelText(s.datasetLabel()), tableLabel: labelText(at.table), partitionLabel: at.label(),
		usedLabel: labelText(by),
	}
	err = repeat(ctx, func() (err error) {
		nothing := s.client.Query("SELECT 1")
		nothing.JobID, nothing.Location, nothing.Labels = id, s.datasetInfo.location, labels
		if _, err = nothing.Run(ctx); hasStatus(unhide(err), http.StatusConflict) {
			job, err = s.getJob(ctx, id)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("use up the ID of an earlier run's job %s: %w", id, s.explain(err))
	}
	if job == nil {
		return nil, nil
	}
	if err := s.wait(ctx, job); err != nil && !isJobError(err) {
		return nil, fmt.Errorf("an earlier run's job is unfinished, and the new rows can't be loaded before it "+
			"ends: %w; nothing was changed", err)
	}
	return job, nil
}

// abandonTime bounds the calls that are made after a Put's context has ended. A process that gets
// SIGTERM has 10 s.
const abandonTime = 5 * time.Second

// abandon cancels a job that nobody waits for any more, and adds to the error what is known of the
// job's outcome. A job that went on could replace what the next holder of the lease has loaded
// meanwhile. job is nil if no answer contained it.
func (s *Sink) abandon(ctx context.Context, slot *slot, id string, job *bigquery.Job, cause error) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer stop()
	job, err := s.cancel(ctx, id, job)
	var failed *JobError
	switch {
	case err != nil:
		return fmt.Errorf("%w; the outcome of job %s is unknown (asked to cancel it: %w): the partition holds the "+
			"old rows or the new "+
			"ones, whole; repeat the put, which waits for the job first", cause, id, s.explain(err))
	case errors.As(jobError(job), &failed):
		slot.unknown = ""
		return fmt.Errorf("%w; job %s is cancelled, %w", cause, id, sinks.ErrUnchanged)
	default:
		slot.unknown = ""
		return fmt.Errorf("%w; job %s was done by then, so the new rows are visible; repeating the put is harmless",
			cause, id)
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
		err = unhide(err)
		if hasStatus(err, http.StatusNotFound) || (err != nil && remedyFor(err) == noRetry) {
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
