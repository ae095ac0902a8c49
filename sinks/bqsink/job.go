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
	// chunkSize bounds the memory of one upload in bytes. A file that is larger is uploaded in a
	// resumable session.
	chunkSize = 8 << 20

	// A load of one partition takes seconds. Polls begin at firstPoll and become rarer up to
	// mostPoll.
	firstPoll, mostPoll = 100 * time.Millisecond, 5 * time.Second
)

// A jobSpec is what a job should do. When a job fails for a passing reason, another is made of the
// same jobSpec.
type jobSpec struct {
	at     place
	part   sinks.Part
	labels map[string]string
	query  string                  // the DELETE for a part without rows; empty for a load
	table  *bigquery.TableMetadata // the table that is loaded into
	staged string                  // gs:// URI of the part's file; empty if the file is uploaded with the request

	// mayExist is set when a request was sent whole and not refused: whatever the answer said, a
	// job may exist.
	mayExist bool
}

// jobPrefix begins the IDs of all jobs of this package.
const jobPrefix = "reportferry_"

// jobID names a job by dataset, table, partition, lease and attempt. IDs are unique in a project.
func (s *Sink) jobID(at place, lease string, attempt int) string {
	return fmt.Sprintf(jobPrefix+"%s_%s_%s_%s_%d", labelText(s.datasetLabel()), labelText(at.table), at.label(),
		labelText(lease), attempt)
}

// datasetLabel names the dataset in labels and job IDs. It is unambiguous, because the name of a
// dataset has no hyphen.
func (s *Sink) datasetLabel() string { return s.project + "-" + s.dataset }

// errTaken is the error of a job whose ID another run has used up (see useUp).
var errTaken = fmt.Errorf("another run has taken the partition over, and used up the job's ID: %w", sinks.ErrConflict)

// run makes one job and waits for its end. The job's ID has the slot's next attempt. A *JobError
// means that the job changed nothing; any other error says in its text what is known of the
// outcome.
func (s *Sink) run(ctx context.Context, spec *jobSpec, slot *slot) (*bigquery.Job, error) {
	spec.mayExist = false
	slot.attempt++
	id := s.jobID(spec.at, slot.lease, slot.attempt)
	job, err := s.submit(ctx, spec, id)
	if err == nil {
		err = s.wait(ctx, job)
	}
	var failed *JobError
	switch {
	case err == nil, errors.As(err, &failed):
	case !spec.mayExist:
		slot.attempt-- // the ID is free, or it was used up, and then this lease gets no later one either
	default:
		slot.unknown = id
		err = s.abandon(ctx, slot, id, job, err)
	}
	return job, err
}

// submit repeats the request for the job until the job is known to exist, or known not to.
func (s *Sink) submit(ctx context.Context, spec *jobSpec, id string) (job *bigquery.Job, err error) {
	err = repeat(ctx, func() error {
		if err := s.pace.wait(ctx, spec.at.table); err != nil {
			return err
		}
		if job, err = s.ask(ctx, spec, id); hasStatus(err, http.StatusConflict) {
			job, err = s.attach(ctx, spec, id)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ask for job %s: %w", id, s.explain(err))
	}
	return job, nil
}

// ask requests the job once: a DELETE, a load of a staged file, or an upload of the file.
func (s *Sink) ask(ctx context.Context, spec *jobSpec, id string) (*bigquery.Job, error) {
	if spec.query != "" {
		deletion := s.client.Query(spec.query)
		deletion.JobID, deletion.Location, deletion.Labels = id, s.datasetInfo.location, spec.labels
		return spec.noteAnswer(deletion.Run(ctx))
	}
	if spec.staged != "" {
		file := bigquery.NewGCSReference(spec.staged)
		file.FileConfig = spec.format()
		return spec.noteAnswer(s.replacement(spec, file, id).Run(ctx))
	}
	file, err := openSource(ctx, spec.part)
	if err != nil {
		return nil, err
	}
	rows := bigquery.NewReaderSource(file)
	rows.FileConfig = spec.format()
	load := s.replacement(spec, rows, id)
	load.MediaOptions = []googleapi.MediaOption{googleapi.ContentType("application/octet-stream"),
		googleapi.ChunkSize(chunkSize)}
	job, err := load.Run(ctx)
	closeErr := file.Close()
	spec.mayExist = spec.mayExist || (file.sent.Load() && !refused(err))
	switch {
	case !file.sent.Load() && file.err != nil: // the client may wrap this error or report another one
		return nil, file.err
	case err == nil && closeErr != nil: // the file wasn't read to its end, so what was accepted isn't the part
		return nil, fmt.Errorf("%w: %w", errSource, closeErr)
	}
	return job, err
}

// noteAnswer notes in mayExist what the answer means for a request that is always sent whole.
func (spec *jobSpec) noteAnswer(job *bigquery.Job, err error) (*bigquery.Job, error) {
	err = unhide(err)
	spec.mayExist = spec.mayExist || !refused(err)
	return job, err
}

// refused reports whether the answer rules out that this request made a job: it is an HTTP status
// below 500, or 501.
func refused(err error) bool {
	var answer *googleapi.Error
	return errors.As(err, &answer) && (answer.Code < http.StatusInternalServerError ||
		answer.Code == http.StatusNotImplemented)
}

// attach fetches the job that has the ID already. The job is ours when its labels name this very
// Put and it has the same destination and content: our own request made it, and the answer to that
// request was lost.
func (s *Sink) attach(ctx context.Context, spec *jobSpec, id string) (*bigquery.Job, error) {
	job, err := s.getJob(ctx, id)
	if err != nil {
		return nil, err
	}
	spec.mayExist = s.ours(job, spec)
	if !spec.mayExist {
		return nil, errTaken
	}
	return job, nil
}

// ours tells whether this call of Put made the job, as attach says.
func (s *Sink) ours(job *bigquery.Job, spec *jobSpec) bool {
	labels := labelsOf(job)
	if labels[putLabel] != spec.labels[putLabel] || labels[hashLabel] != spec.labels[hashLabel] {
		return false
	}
	config, _ := job.Config() // labelsOf has read it
	switch c := config.(type) {
	case *bigquery.LoadConfig:
		return spec.query == "" && c.Dst != nil && c.Dst.FullyQualifiedName() ==
			s.table(spec.at.destination()).FullyQualifiedName()
	case *bigquery.QueryConfig:
		return c.Q == spec.query
	}
	return false
}

// getJob looks up a job by its ID.
func (s *Sink) getJob(ctx context.Context, id string) (*bigquery.Job, error) {
	return s.client.JobFromIDLocation(ctx, id, s.datasetInfo.location)
}

// wait polls until the job is done and returns the error that it ended with.
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
	return jobError(job)
}

// done reports whether a job had ended when its status was last requested.
func done(job *bigquery.Job) bool { return job.LastStatus() != nil && job.LastStatus().Done() }
