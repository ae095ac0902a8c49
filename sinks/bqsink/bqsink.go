// Package bqsink keeps tables in BigQuery, a partition at a time. Without it there would be files only, and every
// dashboard would need somebody who loads them, not twice, not half, and not in the wrong order.
//
// A partition is replaced by one load job with WRITE_TRUNCATE into table$partition, which is atomic when the job
// completes (https://cloud.google.com/bigquery/docs/reference/rest/v2/Job, writeDisposition). The job's ID is made here,
// so a request whose answer was lost is asked again under the same ID, and the answer 409 leads to the job that the
// first request made (https://cloud.google.com/bigquery/docs/running-jobs#generate-jobid). A load that an earlier run
// left behind is waited for, so that it can't land after a newer one. Rows are never streamed.
//
// Everything goes through cloud.google.com/go/bigquery. Left to itself that client repeats a failed call until the
// context ends; a transport below it (once) hides failures from it, so that a call of it is one request and the retries
// here, which end and are told of, are the only ones but those of an upload's chunks.
package bqsink

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"cloud.google.com/go/bigquery"
	"google.golang.org/api/option"

	"github.com/reportferry/reportferry/sinks"
)

// A Sink is one dataset. It may be used by many goroutines.
type Sink struct {
	target
	client  *bigquery.Client // of the project that pays for the jobs
	staging *staging         // nil: files are uploaded with their jobs
	where   whereabouts
	tables  tables
	places  places
	pace    pace
}

// Open opens the dataset that a URL names:
//
//	bigquery://project/dataset?location=EU&staging=gs://bucket/prefix&job_project=p
//
// location is the dataset's, and when given it must be; staging is where files lie while they are loaded, instead of
// being uploaded with their jobs; job_project pays for the jobs, instead of the dataset's project. With endpoint, an
// http URL of this machine, an emulator stands for BigQuery and no credentials are used; else they are the
// application's default ones (https://cloud.google.com/docs/authentication/application-default-credentials).
// Open calls neither BigQuery nor the bucket.
func Open(ctx context.Context, rawURL string) (sinks.Sink, error) {
	s, err := open(ctx, rawURL, nil)
	if err != nil {
		return nil, fmt.Errorf("open sink %s: %w", sinks.Redact(rawURL), err)
	}
	return s, nil
}

// open sends by the transport; without one, by one that is logged in as the URL asks for. Tests bring theirs.
func open(ctx context.Context, rawURL string, transport http.RoundTripper) (*Sink, error) {
	t, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	if transport == nil {
		if transport, err = login(t.endpoint != "", nil); err != nil {
			return nil, err
		}
	}
	opts := []option.ClientOption{option.WithHTTPClient(&http.Client{Transport: once{transport}})}
	if t.endpoint != "" {
		opts = append(opts, option.WithEndpoint(t.endpoint))
	}
	client, err := bigquery.NewClient(ctx, t.jobProject, opts...)
	if err != nil {
		return nil, err
	}
	s := &Sink{target: t, client: client, where: whereabouts{turn: newTurn()}}
	if t.staging != "" {
		if s.staging, err = openStaging(ctx, t.staging); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Store names the dataset, and the emulator that stands for BigQuery, if any.
func (s *Sink) Store() string {
	if s.endpoint != "" {
		return s.url + "?endpoint=" + s.endpoint
	}
	return s.url
}

// Close closes the client and the staging bucket.
func (s *Sink) Close() error {
	err := s.client.Close()
	if s.staging != nil {
		err = errors.Join(err, s.staging.bucket.Close())
	}
	return err
}
