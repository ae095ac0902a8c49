package bqsink

import (
	"context"
	"errors"
	"fmt"

	bq "google.golang.org/api/bigquery/v2"
	"google.golang.org/api/googleapi"
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

// listed are the fields of a listing that are read; the whole of a job is much more.
const listed = "nextPageToken,jobs(jobReference,state,configuration(labels,load(destinationTable)))"

// settle waits until no job is under way that could land in the place: of an earlier run, or of an earlier Put whose
// outcome wasn't known. Their verdicts don't matter, because ours comes after them.
func (s *Sink) settle(ctx context.Context, at place) error {
	jobs, err := s.unfinished(ctx, at)
	if err != nil {
		return fmt.Errorf("look for unfinished jobs of earlier runs: %w", s.explain(err))
	}
	for _, j := range jobs {
		job := &bq.Job{JobReference: j.JobReference}
		if _, err := s.wait(ctx, job); err != nil && !isJobError(err) {
			return fmt.Errorf("an earlier run's job is unfinished, and the new rows can't go before it: %w; nothing was changed", err)
		}
	}
	return nil
}

// unfinished lists the jobs of any run and any account that are under way into the place. An account that may not see
// the jobs of others sees its own. Jobs that another project pays for are not seen.
func (s *Sink) unfinished(ctx context.Context, at place) ([]*bq.JobListJobs, error) {
	jobs, err := s.list(ctx, at, true)
	var answer *googleapi.Error
	if errors.As(err, &answer) && reason(answer) == "accessDenied" {
		return s.list(ctx, at, false)
	}
	return jobs, err
}

func (s *Sink) list(ctx context.Context, at place, all bool) (found []*bq.JobListJobs, err error) {
	token := ""
	for {
		var page *bq.JobList
		err := repeat(ctx, func() (err error) {
			call := s.service.Jobs.List(s.jobProject).AllUsers(all).Projection("full").StateFilter("pending", "running").
				PageToken(token).Fields(googleapi.Field(listed)).Context(ctx)
			page, err = call.Do()
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, j := range page.Jobs {
			if s.mayLand(j, at) {
				found = append(found, j)
			}
		}
		if token = page.NextPageToken; token == "" {
			return found, nil
		}
	}
}

// mayLand tells whether a job is one of ours that will change the place.
func (s *Sink) mayLand(j *bq.JobListJobs, at place) bool {
	c := j.Configuration
	if c == nil || j.JobReference == nil || c.Labels[ownLabel] != labelText(s.datasetLabel()) {
		return false
	}
	return c.Labels[tableLabel] == labelText(at.table) && c.Labels[partitionLabel] == at.label()
}
