package bqsink

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"cloud.google.com/go/bigquery"
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
	labels map[string]string
	query  string                  // of a part without rows; the rest is of the others
	table  *bigquery.TableMetadata // that is loaded into
	staged string                  // gs:// of the part's file; empty: it goes with the request

	maybe bool // a request went out whole and was not refused, so there may be a job
}

// jobPrefix is how the IDs of our jobs begin.
const jobPrefix = "reportferry_"

// jobID names a job by its table, partition, run and attempt. IDs are unique in a project, so the dataset is in it too.
func (s *Sink) jobID(at place, run string, attempt int) string {
	return fmt.Sprintf(jobPrefix+"%s_%s_%s_%s_%d", labelText(s.datasetLabel()), labelText(at.table), at.label(), labelText(run), attempt)
}

func (s *Sink) datasetLabel() string { return s.project + "-" + s.dataset } // no dataset has a - in it

// errTaken says that a job of another Put has the ID.
var errTaken = errors.New("the job ID is taken")

// run does the work by one job, under the next attempt of the slot. When the error is a *JobError, the job changed
// nothing; any other says itself what is known.
func (s *Sink) run(ctx context.Context, w *work, at *slot) (*bigquery.Job, error) {
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
		err = s.wait(ctx, job)
	}
	var failed *JobError
	switch {
	case err == nil, errors.As(err, &failed):
		at.settled = true
	case w.maybe:
		at.settled = false
		err = s.abandon(ctx, at, id, job, err)
	}
	return job, err
}

// submit asks for the job until it is known to be there, or known not to be.
func (s *Sink) submit(ctx context.Context, w *work, id string) (job *bigquery.Job, err error) {
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

func (s *Sink) ask(ctx context.Context, w *work, id string) (*bigquery.Job, error) {
	if w.query != "" {
		deletion := s.client.Query(w.query)
		deletion.JobID, deletion.Location, deletion.Labels = id, s.where.location, w.labels
		return w.asked(deletion.Run(ctx))
	}
	if w.staged != "" {
		file := bigquery.NewGCSReference(w.staged)
		file.FileConfig = w.format()
		return w.asked(s.replacement(w, file, id).Run(ctx))
	}
	file, err := openSource(ctx, w.part)
	if err != nil {
		return nil, err
	}
	rows := bigquery.NewReaderSource(file)
	rows.FileConfig = w.format()
	load := s.replacement(w, rows, id)
	load.MediaOptions = []googleapi.MediaOption{googleapi.ContentType("application/octet-stream"), googleapi.ChunkSize(chunkSize)}
	job, err := load.Run(ctx)
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

// asked takes note of the answer to a request that is always sent whole.
func (w *work) asked(job *bigquery.Job, err error) (*bigquery.Job, error) {
	err = plain(err)
	w.maybe = w.maybe || !refused(err)
	return job, err
}

// refused tells whether an answer says that there is no job of this request.
func refused(err error) bool {
	var answer *googleapi.Error
	return errors.As(err, &answer) && (answer.Code < http.StatusInternalServerError || answer.Code == http.StatusNotImplemented)
}

// attach fetches the job that has the ID already, and takes it for ours when it is one of this very Put, with the same
// destination and content: our own request made it, and its answer was lost.
func (s *Sink) attach(ctx context.Context, w *work, id string) (*bigquery.Job, error) {
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

func (s *Sink) ours(job *bigquery.Job, w *work) bool {
	labels := labelsOf(job)
	if labels[putLabel] != w.labels[putLabel] || labels[hashLabel] != w.labels[hashLabel] {
		return false
	}
	config, _ := job.Config() // labelsOf has read it
	switch c := config.(type) {
	case *bigquery.LoadConfig:
		return w.query == "" && c.Dst != nil && c.Dst.FullyQualifiedName() == s.table(w.at.destination()).FullyQualifiedName()
	case *bigquery.QueryConfig:
		return c.Q == w.query
	}
	return false
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

func (s *Sink) getJob(ctx context.Context, id string) (*bigquery.Job, error) {
	return s.client.JobFromIDLocation(ctx, id, s.where.location)
}

// wait waits for the job's end and gives its verdict.
func (s *Sink) wait(ctx context.Context, job *bigquery.Job) error {
	for pause := firstPoll; !done(job); pause = min(pause*3/2, mostPoll) {
		if err := sleep(ctx, pause); err != nil {
			return fmt.Errorf("wait for job %s: %w", job.ID(), err)
		}
		err := repeat(ctx, func() error {
			_, err := job.Status(ctx)
			return err
		})
		if err != nil {
			return fmt.Errorf("wait for job %s: %w", job.ID(), s.explain(err))
		}
	}
	return verdict(job)
}

func done(job *bigquery.Job) bool { return job.LastStatus() != nil && job.LastStatus().Done() }
