package bqsink

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/bigquery"
	"google.golang.org/api/googleapi"

	"github.com/reportferry/reportferry/sinks"
)

// mostErrors bounds how many of a job's errors a message repeats. There may be one for each row,
// and the first ones say what is wrong.
const mostErrors = 5

// A JobError is a job that ended with an error. It changed nothing.
type JobError struct {
	Job    string // its ID
	Reason string // https://cloud.google.com/bigquery/docs/error-messages
	text   string
}

func (e *JobError) Error() string { return e.text }

// Is makes the error a sinks.ErrUnchanged, because nothing was put.
func (e *JobError) Is(target error) bool { return target == sinks.ErrUnchanged }

// jobError returns the error that a finished job ended with, or nil.
func jobError(job *bigquery.Job) error {
	status := job.LastStatus()
	var result *bigquery.Error
	if errors.As(status.Err(), &result) {
		return newJobError(job.ID(), result, status.Errors)
	}
	return status.Err()
}

// newJobError makes an error of a job's result and of all the errors that the job met.
func newJobError(id string, result *bigquery.Error, all []*bigquery.Error) *JobError {
	lines := []string{errorText(result)}
	for _, e := range all {
		if text := errorText(e); text != lines[0] {
			lines = append(lines, text)
		}
	}
	if more := len(lines) - mostErrors; more > 0 {
		lines = append(lines[:mostErrors], fmt.Sprintf("and %d more", more))
	}
	return &JobError{Job: id, Reason: result.Reason, text: fmt.Sprintf("job %s failed: %s", id,
		strings.Join(lines, "; "))}
}

func errorText(e *bigquery.Error) string {
	text := e.Reason + ": " + strings.TrimRight(e.Message, ". \n")
	if e.Location != "" {
		text += " (at " + e.Location + ")"
	}
	return text
}

// explain writes an error in one line, and adds advice where the reason is known.
func (s *Sink) explain(err error) error {
	var answer *googleapi.Error
	var job *JobError
	var token *auth.Error
	why := ""
	switch {
	case errors.As(err, &answer):
		why = reason(answer)
		text := cmp.Or(strings.TrimRight(answer.Message, ". \n"), "no message")
		if why != "" {
			text = why + ": " + text
		}
		text = fmt.Sprintf("BigQuery answered %d %s", answer.Code, text)
		err = &sinks.Refusal{Text: strings.Replace(err.Error(), answer.Error(), text, 1), Cause: err,
			Denied: denied(answer.Code, why)}
	case errors.As(err, &job):
		why = job.Reason
	case errors.As(err, &token):
		text := strings.Join(strings.Fields(token.Error()), " ") // it has several lines, and repeats the answer
		gone := tokenRefused(err)
		err = &sinks.Refusal{Text: strings.Replace(err.Error(), token.Error(), text, 1), Cause: err, Denied: gone}
		if gone {
			why = noToken
		}
	}
	if advice := s.advice(why); advice != "" {
		return fmt.Errorf("%w; %s", err, advice)
	}
	return err
}

// noToken is the reason when the credentials were refused before BigQuery was asked.
const noToken = "noToken"

// advice returns what a person can do about an error with this reason, or "".
func (s *Sink) advice(reason string) string {
	switch reason {
	case noToken:
		return "the credentials are refused: log in again by gcloud auth application-default login, or check that " +
			"the service account and its key still exist and are enabled"
	case "accessDenied":
		return fmt.Sprintf("the account that runs this needs the roles BigQuery Job User (roles/bigquery.jobUser) "+
			"on project %s "+
			"and BigQuery Data Editor (roles/bigquery.dataEditor) on dataset %s.%s", s.jobProject, s.project, s.dataset)
	case "quotaExceeded":
		return "the plan command counts the load jobs that are due; fetch fewer days at a time, or longer periods"
	case "rateLimitExceeded":
		return "too many requests at once; does another program use this table or this account?"
	case "billingNotEnabled":
		return fmt.Sprintf("project %s has no billing account", s.jobProject)
	}
	return ""
}

// denied reports whether permission is missing. A 403 has other causes, quotas above all.
func denied(status int, reason string) bool { return status == 401 || reason == "accessDenied" }
