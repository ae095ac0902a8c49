package bqsink

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cloud.google.com/go/bigquery"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"
)

// Keys of the labels that jobs carry. What a value's text is, is in labelText.
const (
	ownLabel       = "reportferry" // project-dataset
	tableLabel     = "table"
	partitionLabel = "partition"
	runLabel       = "run"
	hashLabel      = "hash" // of the content
	putLabel       = "put"  // a random name of one call of Put: it alone tells a lost answer from another's job
)

// settle waits until no job is under way that could land in the place: of an earlier run, or of an earlier Put whose
// outcome wasn't known. Their verdicts don't matter, because ours comes after them.
func (s *Sink) settle(ctx context.Context, at place) error {
	jobs, err := s.unfinished(ctx, at)
	if err != nil {
		return fmt.Errorf("look for unfinished jobs of earlier runs: %w", s.explain(err))
	}
	for _, job := range jobs {
		if err := s.wait(ctx, job); err != nil && !isJobError(err) {
			return fmt.Errorf("an earlier run's job is unfinished, and the new rows can't go before it: %w; nothing was changed", err)
		}
	}
	return nil
}

// unfinished lists the jobs of any run and any account that are under way into the place. An account that may not see
// the jobs of others sees its own. Jobs that another project pays for are not seen.
func (s *Sink) unfinished(ctx context.Context, at place) ([]*bigquery.Job, error) {
	jobs, err := s.list(ctx, at, true)
	var answer *googleapi.Error
	if errors.As(err, &answer) && reason(answer) == "accessDenied" {
		return s.list(ctx, at, false)
	}
	return jobs, err
}

func (s *Sink) list(ctx context.Context, at place, all bool) (found []*bigquery.Job, err error) {
	for _, state := range []bigquery.State{bigquery.Pending, bigquery.Running} { // as a job goes, so that none slips through
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

// landing picks the jobs of ours that will change the place.
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

// labelsOf are a job's labels, if it is one of the two kinds that are made here.
func labelsOf(job *bigquery.Job) map[string]string {
	if !strings.HasPrefix(job.ID(), jobPrefix) {
		return nil // what others made needn't be understood
	}
	config, err := job.Config()
	if err != nil {
		return nil
	}
	switch c := config.(type) {
	case *bigquery.LoadConfig:
		return c.Labels
	case *bigquery.QueryConfig:
		return c.Labels
	}
	return nil
}
