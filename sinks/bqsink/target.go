package bqsink

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/reportferry/reportferry/internal/address"
	"github.com/reportferry/reportferry/internal/lazy"
	"github.com/reportferry/reportferry/sinks"
)

// A target is what a sink's URL says.
type target struct {
	url        string // without its query
	project    string
	dataset    string
	jobProject string
	location   string // the dataset's, if the URL says it; empty for any
	staging    string // gs://bucket/prefix, or empty
	endpoint   string // of an emulator, or empty
}

// The names that BigQuery accepts (https://cloud.google.com/bigquery/docs/datasets#dataset-naming
// and https://cloud.google.com/resource-manager/docs/creating-managing-projects).
var (
	projectName = lazy.Regexp(`^[a-z][a-z0-9-]{0,62}$`)
	datasetName = lazy.Regexp(`^[A-Za-z0-9_]+$`)
	tableName   = datasetName
)

// urlForm ends the messages about a URL of another form.
const urlForm = "want bigquery://project/dataset?location=EU"

// parseURL reads and checks a sink's URL.
func parseURL(rawURL string) (target, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return target{}, errors.New("not a URL; " + urlForm)
	}
	t := target{url: sinks.Redact(rawURL), project: u.Host, jobProject: u.Host, dataset: strings.Trim(u.Path, "/")}
	switch {
	case u.User != nil || u.Fragment != "":
		return t, errors.New("a user name or a # means nothing here; " + urlForm)
	case !projectName().MatchString(t.project):
		return t, fmt.Errorf("%q isn't a project ID; %s", t.project, urlForm)
	case !datasetName().MatchString(t.dataset):
		return t, fmt.Errorf("%q isn't the name of a dataset, which has letters, digits and underscores; %s", t.dataset,
			urlForm)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return t, errors.New("the parameters after the ? can't be parsed; " + urlForm)
	}
	for name, values := range query {
		if len(values) != 1 || values[0] == "" {
			return t, fmt.Errorf("parameter %s: want one value", name)
		}
		if err := t.set(name, values[0]); err != nil {
			return t, fmt.Errorf("parameter %s: %w", name, err)
		}
	}
	return t, nil
}

// set sets the field of one of the URL's parameters.
func (t *target) set(name, value string) error {
	switch name {
	case "location":
		t.location = value
	case "job_project":
		if !projectName().MatchString(value) {
			return errors.New("want a project ID")
		}
		t.jobProject = value
	case "staging":
		u, err := url.Parse(value)
		if err != nil || u.Scheme != "gs" || u.Host == "" || u.RawQuery != "" || u.User != nil {
			return errors.New("want gs://bucket/prefix: BigQuery loads from Cloud Storage only")
		}
		t.staging = value
	case "endpoint":
		u, err := url.Parse(value)
		if err != nil || u.Scheme != "http" || !address.Loopback(u.Hostname()) || u.RawQuery != "" ||
			strings.Trim(u.Path, "/") != "" {
			return errors.New("want http://127.0.0.1:port: an endpoint is for an emulator on this machine, and is " +
				"called without credentials")
		}
		t.endpoint = "http://" + u.Host + "/bigquery/v2/"
	default:
		return errors.New("unknown; known parameters are endpoint, job_project, location and staging")
	}
	return nil
}
