package bqsink

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	bq "google.golang.org/api/bigquery/v2"
	"google.golang.org/api/googleapi"

	"github.com/reportferry/reportferry/sinks"
)

const (
	// chunkSize bounds what one upload keeps in memory, and is where uploads begin to be resumable ones.
	chunkSize = 8 << 20

	// A load of one partition takes seconds, and is asked after a little more seldom the longer it takes.
	firstPoll, mostPoll = 100 * time.Millisecond, 5 * time.Second
)

// A work is what one job after the other is asked to do, until one does it.
type work struct {
	at     place
	part   sinks.Part
	config *bq.JobConfiguration
	upload bool // the part's file goes with the request

	maybe bool // a request went out whole and was not refused, so there may be a job
}

// jobID names a job by its table, partition, run and attempt. IDs are unique in a project, so the dataset is in it too.
func (s *Sink) jobID(at place, run string, attempt int) string {
	return fmt.Sprintf("reportferry_%s_%s_%s_%s_%d", labelText(s.datasetLabel()), labelText(at.table), at.label(), labelText(run), attempt)
}

func (s *Sink) datasetLabel() string { return s.project + "-" + s.dataset } // no dataset has a - in it

// errTaken says that a job of another Put has the ID.
var errTaken = errors.New("the job ID is taken")

// run does the work by one job, under the next attempt of the slot. When the error is a *JobError, the job changed
// nothing; any other says itself what is known.
func (s *Sink) run(ctx context.Context, w *work, at *slot) (*bq.Job, error) {
	w.maybe = false
	at.attempt++
	id := s.jobID(w.at, w.part.Run, at.attempt)
	job, err := s.submit(ctx, w, id)
	for errors.Is(err, errTaken) { // a process that was killed has been here under the same run
		if at.attempt, err = s.nextFree(ctx, w, at.attempt); err == nil {
			id = s.jobID(w.at, w.part.Run, at.attempt)
			job, err = s.submit(ctx, w, id)
		}
	}
	if err == nil {
		job, err = s.wait(ctx, job)
	}
	var failed *JobError
	switch {
	case err == nil, errors.As(err, &failed):
		at.settled = true
	case w.maybe:
		at.settled = false
		err = s.abandon(ctx, at, id, err)
	}
	return job, err
}

// submit asks for the job until it is known to be there, or known not to be.
func (s *Sink) submit(ctx context.Context, w *work, id string) (job *bq.Job, err error) {
	err = repeat(ctx, func() error {
		if err := s.pace.wait(ctx, w.at.table); err != nil {
			return err
		}
		if job, err = s.ask(ctx, w, id); hasStatus(err, http.StatusConflict) {
			job, err = s.attach(ctx, w, id)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ask for job %s: %w", id, s.explain(err))
	}
	return job, nil
}

func (s *Sink) ask(ctx context.Context, w *work, id string) (*bq.Job, error) {
	call := s.service.Jobs.Insert(s.jobProject, &bq.Job{
		JobReference:  &bq.JobReference{ProjectId: s.jobProject, JobId: id, Location: s.where.location},
		Configuration: w.config,
	}).Context(ctx)
	if !w.upload {
		job, err := call.Do()
		w.maybe = w.maybe || !refused(err)
		return job, err
	}
	file, err := openSource(ctx, w.part)
	if err != nil {
		return nil, err
	}
	job, err := call.Media(file, googleapi.ContentType("application/octet-stream"), googleapi.ChunkSize(chunkSize)).Do()
	closeErr := file.Close()
	w.maybe = w.maybe || (file.sent.Load() && !refused(err))
	switch {
	case !file.sent.Load() && file.err != nil: // the client may wrap it, or say something else of it
		return nil, file.err
	case err == nil && closeErr != nil: // not read to its end, and yet taken: no part is loaded like that
		return nil, fmt.Errorf("%w: %w", errSource, closeErr)
	}
	return job, err
}

// refused tells whether an answer says that there is no job of this request.
func refused(err error) bool {
	var answer *googleapi.Error
	return errors.As(err, &answer) && (answer.Code < http.StatusInternalServerError || answer.Code == http.StatusNotImplemented)
}

// attach fetches the job that has the ID already, and takes it for ours when it is one of this very Put, with the same
// destination and content: our own request made it, and its answer was lost.
func (s *Sink) attach(ctx context.Context, w *work, id string) (*bq.Job, error) {
	job, err := s.getJob(ctx, id)
	if err != nil {
		return nil, err
	}
	w.maybe = s.ours(job, w)
	if !w.maybe {
		return nil, errTaken
	}
	return job, nil
}

func (s *Sink) ours(job *bq.Job, w *work) bool {
	c := job.Configuration
	if c == nil || c.Labels[putLabel] != w.config.Labels[putLabel] || c.Labels[hashLabel] != w.config.Labels[hashLabel] {
		return false
	}
	if w.config.Load == nil {
		return c.Query != nil && c.Query.Query == w.config.Query.Query
	}
	return c.Load != nil && s.into(c.Load, w.at)
}

// into tells whether a load goes into the place.
func (s *Sink) into(l *bq.JobConfigurationLoad, at place) bool {
	d := l.DestinationTable
	return d != nil && d.ProjectId == s.project && d.DatasetId == s.dataset && d.TableId == at.destination()
}

// nextFree finds the first attempt after this one that no job has.
func (s *Sink) nextFree(ctx context.Context, w *work, attempt int) (int, error) {
	for {
		attempt++
		err := repeat(ctx, func() error {
			_, err := s.getJob(ctx, s.jobID(w.at, w.part.Run, attempt))
			return err
		})
		switch {
		case hasStatus(err, http.StatusNotFound):
			return attempt, nil
		case err != nil:
			return attempt, fmt.Errorf("look for a free job ID: %w", s.explain(err))
		}
	}
}

func (s *Sink) getJob(ctx context.Context, id string) (*bq.Job, error) {
	return s.service.Jobs.Get(s.jobProject, id).Location(s.where.location).Context(ctx).Do()
}

// wait waits for the job's end and gives its verdict.
func (s *Sink) wait(ctx context.Context, job *bq.Job) (*bq.Job, error) {
	id := job.JobReference.JobId
	for pause := firstPoll; !done(job); pause = min(pause*3/2, mostPoll) {
		if err := sleep(ctx, pause); err != nil {
			return nil, fmt.Errorf("wait for job %s: %w", id, err)
		}
		err := repeat(ctx, func() (err error) {
			job, err = s.getJob(ctx, id)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("wait for job %s: %w", id, s.explain(err))
		}
	}
	return job, verdict(job)
}

func done(j *bq.Job) bool { return j.Status != nil && strings.EqualFold(j.Status.State, "DONE") }
