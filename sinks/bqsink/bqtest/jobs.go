package bqtest

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
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
	Scripted  *bq.ErrorProto   // what a fault lets it end with
	Errors    []*bq.ErrorProto // the first one is the result
	Load      bq.JobStatistics3
	Statement string  // of a query
	Deleted   int64   // rows, by a DELETE
	Counts    []count // the answer to a query of partitions
	media     []byte  // the file of an upload, until the job is done
}

// user is the account of every job.
const user = "reporter@test.iam.gserviceaccount.com"

var jobID = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// key returns the job's full name.
func (j *job) key() string { return j.Ref.ProjectId + ":" + j.Ref.Location + "." + j.Ref.JobId }

func (j *job) state() string {
	if j.Done {
		return "DONE"
	}
	return "RUNNING"
}

// jobKey returns the key under which a job is found. Locations in upper and lower case are the same.
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

// findJob returns the job with an ID. The location may be left out only in the multi-regions US and EU.
// https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/get
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

func (s *Server) getJob(c *call) (any, *refusal) {
	j, r := s.findJob(c.project, c.job, c.query.Get("location"))
	if r != nil {
		return nil, r
	}
	return j.resource(), nil
}

func (s *Server) cancelJob(c *call) (any, *refusal) {
	j, r := s.findJob(c.project, c.job, c.query.Get("location"))
	if r != nil {
		return nil, r
	}
	if !j.Done {
		j.Scripted = &bq.ErrorProto{Reason: "stopped", Message: "Job execution was cancelled: User requested cancellation"}
		j.Ends = s.now().UnixMilli()
		s.finish(c.r.Context(), j)
	}
	return &bq.JobCancelResponse{Kind: "bigquery#jobCancelResponse", Job: j.resource()}, nil
}

// listJobs lists the newest job first. Labels come with projection=full; there is no filter by labels.
// https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/list
func (s *Server) listJobs(c *call) (any, *refusal) {
	if c.query.Get("allUsers") == "true" && slices.Contains(s.denied, "bigquery.jobs.listAll") {
		return nil, c.denied("bigquery.jobs.listAll")
	}
	states := c.query["stateFilter"]
	for i, st := range states {
		states[i] = strings.ToUpper(st)
		if !slices.Contains([]string{"DONE", "PENDING", "RUNNING"}, states[i]) {
			return nil, refuse("invalid", "Invalid value \"%s\" of stateFilter: done, pending or running", st)
		}
	}
	from, to, size, skip := int64(0), int64(1<<62), int64(50), int64(0)
	for name, into := range map[string]*int64{"minCreationTime": &from, "maxCreationTime": &to, "maxResults": &size, "pageToken": &skip} {
		if text := c.query.Get(name); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, refuse("invalid", "Invalid value \"%s\" of %s", text, name)
			}
			*into = n
		}
	}
	var all []*job
	for _, j := range s.jobs {
		if j.Ref.ProjectId == c.project && j.Created >= from && j.Created <= to && (len(states) == 0 || slices.Contains(states, j.state())) {
			all = append(all, j)
		}
	}
	slices.SortFunc(all, func(a, b *job) int {
		return cmp.Or(cmp.Compare(b.Created, a.Created), cmp.Compare(b.Serial, a.Serial))
	})
	list := &bq.JobList{Kind: "bigquery#jobList"}
	skip = min(max(skip, 0), int64(len(all)))
	all = all[skip:]
	if size > 0 && int64(len(all)) > size {
		all = all[:size]
		list.NextPageToken = strconv.FormatInt(skip+size, 10)
	}
	for _, j := range all {
		r := j.resource()
		entry := &bq.JobListJobs{
			Kind: r.Kind, Id: r.Id, JobReference: r.JobReference, State: r.Status.State, ErrorResult: r.Status.ErrorResult,
			Statistics: r.Statistics, Status: r.Status, UserEmail: r.UserEmail,
		}
		if c.query.Get("projection") == "full" {
			entry.Configuration = r.Configuration
		}
		list.Jobs = append(list.Jobs, entry)
	}
	return list, nil
}

// begin starts a job whose configuration was checked. From here on it runs, whatever happens to the answer.
func (s *Server) begin(c *call, ref bq.JobReference, config *bq.JobConfiguration, media []byte) (*job, *refusal) {
	if ref.JobId == "" {
		s.serial++
		ref.JobId = fmt.Sprintf("bqtest_job_%d", s.serial)
	}
	if !jobID.MatchString(ref.JobId) || len(ref.JobId) > mostName {
		return nil, refuse("invalid", "Invalid job ID \"%s\". Job IDs must be alphanumeric (plus underscores and dashes) and must be at most 1024 characters long.", ref.JobId)
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

// settle finishes the jobs whose time has come, in the order in which they end.
func (s *Server) settle(ctx context.Context) {
	now := s.now().UnixMilli()
	var due []*job
	for j := range s.running {
		if j.Ends <= now {
			due = append(due, j)
		}
	}
	slices.SortFunc(due, func(a, b *job) int { return cmp.Or(cmp.Compare(a.Ends, b.Ends), cmp.Compare(a.Serial, b.Serial)) })
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
