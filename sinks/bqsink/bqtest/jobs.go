package bqtest

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	bq "google.golang.org/api/bigquery/v2"
)

// A job is RUNNING until the clock reaches Ends. The next call of the server then does its work.
type job struct {
	Ref       bq.JobReference
	Config    *bq.JobConfiguration
	Created   int64 // ms since 1970
	Ends      int64 // ms since 1970
	Serial    int64 // orders jobs of one millisecond
	Done      bool
	Scripted  *bq.ErrorProto   // the error that a fault makes it end with
	Errors    []*bq.ErrorProto // the first one is the result
	Load      bq.JobStatistics3
	Statement string  // the kind of a query's statement
	Deleted   int64   // how many rows a DELETE deleted
	Counts    []count // the answer to a query of partitions
	media     []byte  // the file of an upload, until the job is done
}

// user is the account of every job.
const user = "reporter@test.iam.gserviceaccount.com"

// jobID matches the IDs that a job can have.
var jobID = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// key returns the job's full name.
func (j *job) key() string { return j.Ref.ProjectId + ":" + j.Ref.Location + "." + j.Ref.JobId }

// state returns the job's state. There is no state PENDING here.
func (j *job) state() string {
	if j.Done {
		return "DONE"
	}
	return "RUNNING"
}

// jobKey returns the key under which a job is found. Locations in upper and lower case are the
// same.
func jobKey(project, location, id string) string {
	return project + ":" + strings.ToLower(location) + "." + id
}

// resource returns the job as jobs.get answers it.
func (j *job) resource() *bq.Job {
	r := &bq.Job{
		Kind: "bigquery#job", Id: j.key(), Etag: etag(j.Ends), UserEmail: user,
		JobReference: &j.Ref, Configuration: j.Config,
		Status:     &bq.JobStatus{State: j.state()},
		Statistics: &bq.JobStatistics{CreationTime: j.Created, StartTime: j.Created},
	}
	if j.Config.Load != nil {
		load := j.Load
		r.Statistics.Load = &load
	}
	if j.Config.Query != nil {
		r.Statistics.Query = &bq.JobStatistics2{StatementType: j.Statement}
		if j.Done && j.Statement == "DELETE" {
			r.Statistics.Query.NumDmlAffectedRows = j.Deleted
			r.Statistics.Query.DmlStats = &bq.DmlStatistics{DeletedRowCount: j.Deleted}
		}
	}
	if j.Done {
		r.Statistics.EndTime = j.Ends
		r.Status.Errors = j.Errors
		if len(j.Errors) > 0 {
			r.Status.ErrorResult = j.Errors[0]
		}
	}
	return r
}

// findJob returns the job with an ID. The location may be left out only in the multi-regions US and
// EU. https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/get
func (s *Server) findJob(project, id, location string) (*job, *refusal) {
	places := []string{location}
	if location == "" {
		places = []string{"US", "EU"}
	}
	for _, place := range places {
		if j := s.jobs[jobKey(project, place, id)]; j != nil {
			return j, nil
		}
	}
	named := project + ":" + id
	if location != "" {
		named = project + ":" + location + "." + id
	}
	return nil, refuse("notFound", "Not found: Job %s", named)
}

// getJob answers jobs.get.
func (s *Server) getJob(c *call) (any, *refusal) {
	j, r := s.findJob(c.project, c.job, c.query.Get("location"))
	if r != nil {
		return nil, r
	}
	return j.resource(), nil
}

// cancelJob answers jobs.cancel, which ends a running job at once.
func (s *Server) cancelJob(c *call) (any, *refusal) {
	j, r := s.findJob(c.project, c.job, c.query.Get("location"))
	if r != nil {
		return nil, r
	}
	if !j.Done {
		j.Scripted = &bq.ErrorProto{Reason: "stopped",
			Message: "Job execution was cancelled: User requested cancellation"}
		j.Ends = s.now().UnixMilli()
		s.finish(c.request.Context(), j)
	}
	return &bq.JobCancelResponse{Kind: "bigquery#jobCancelResponse", Job: j.resource()}, nil
}

// startJob starts a job whose configuration was checked. From here on it runs, whatever happens to
// the answer.
func (s *Server) startJob(c *call, ref bq.JobReference, config *bq.JobConfiguration, media []byte) (*job, *refusal) {
	if ref.JobId == "" {
		s.serial++
		ref.JobId = fmt.Sprintf("bqtest_job_%d", s.serial)
	}
	if !jobID.MatchString(ref.JobId) || len(ref.JobId) > mostName {
		return nil, refuse("invalid",
			"Invalid job ID \"%s\". Job IDs must be alphanumeric (plus underscores and dashes) and must be at most "+
				"1024 characters long.", ref.JobId)
	}
	s.serial++
	j := &job{Ref: ref, Config: config, Created: s.now().UnixMilli(), Serial: s.serial}
	if s.jobs[jobKey(ref.ProjectId, ref.Location, ref.JobId)] != nil {
		return nil, refuse("duplicate", "Already Exists: Job %s", j.key())
	}
	j.Ends = j.Created + s.opts.JobTime.Milliseconds()
	if f := c.fault; f != nil && f.Kind == FaultSlowJob {
		j.Ends = j.Created + f.Delay.Milliseconds()
	}
	if f := c.fault; f != nil && f.Kind == FaultFailJob {
		j.Scripted = f.refusal().proto()
	}
	j.media = media
	s.jobs[jobKey(ref.ProjectId, ref.Location, ref.JobId)] = j
	s.running[j] = true
	return j, nil
}

// finishJobs finishes the jobs whose time has come, in the order in which they end.
func (s *Server) finishJobs(ctx context.Context) {
	now := s.now().UnixMilli()
	var due []*job
	for j := range s.running {
		if j.Ends <= now {
			due = append(due, j)
		}
	}
	slices.SortFunc(due, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.Ends, b.Ends),
			cmp.Compare(a.Serial, b.Serial))
	})
	for _, j := range due {
		s.finish(ctx, j)
	}
	s.expire()
}

// finish does a job's work, all of it or nothing, and sets the job's errors.
func (s *Server) finish(ctx context.Context, j *job) {
	// A caller that disconnects must not fail a job that its call happened to finish.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	switch {
	case j.Scripted != nil:
		j.Errors = []*bq.ErrorProto{j.Scripted}
		if j.Config.Load != nil {
			s.countLoad(j, 0)
		}
	case j.Config.Load != nil:
		s.load(ctx, j)
	case j.Config.Query != nil:
		s.query(j)
	}
	j.Done, j.media = true, nil
	delete(s.running, j)
}
