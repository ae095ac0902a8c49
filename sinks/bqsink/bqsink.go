// Package bqsink keeps tables in BigQuery, a partition at a time. Without it there would be files only, and every
// dashboard would need somebody who loads them, not twice, not half, and not in the wrong order.
//
// A partition is replaced by one load job with WRITE_TRUNCATE into table$partition, which is atomic when the job
// completes (https://cloud.google.com/bigquery/docs/reference/rest/v2/Job, writeDisposition). The job's ID is made here,
// so a request whose answer was lost is asked again under the same ID, and the answer 409 leads to the job that the
// first request made (https://cloud.google.com/bigquery/docs/running-jobs#generate-jobid). A load that an earlier run
// left behind is waited for, so that it can't land after a newer one. Rows are never streamed.
//
// It uses google.golang.org/api/bigquery/v2, the calls that cloud.google.com/go/bigquery is made of, and not that
// client: its methods repeat a failed call until their context ends, which would be a second layer of retries below the
// one here, without a limit and unseen. Views, which may be made twice, go through that client.
package bqsink

import (
	"context"
	"fmt"
	"time"

	bq "google.golang.org/api/bigquery/v2"
	"google.golang.org/api/option"

	"github.com/reportferry/reportferry/sinks"
)

// userAgent names the caller in the audit logs of a project.
const userAgent = "reportferry"

// A Sink is one dataset. It may be used by many goroutines.
type Sink struct {
	target
	service *bq.Service
	options []option.ClientOption
	staging *staging // nil: files are uploaded with their jobs
	where   whereabouts
	tables  tables
	places  places
	pace    pace
}

// Open opens the dataset that a URL names:
//
//	bigquery://project/dataset?location=EU&staging=gs://bucket/prefix&job_project=p
//
// location is the dataset's, and when given it must be; staging is where files lie until they are recorded, instead of
// being uploaded with their jobs; job_project pays for the jobs, instead of the dataset's project. With endpoint, an
// http URL of this machine, an emulator stands for BigQuery and no credentials are used; else they are the
// application's default ones (https://cloud.google.com/docs/authentication/application-default-credentials).
// Open calls neither BigQuery nor the bucket.
func Open(ctx context.Context, rawURL string) (sinks.Sink, error) {
	s, err := open(ctx, rawURL)
	if err != nil {
		return nil, fmt.Errorf("open sink %s: %w", sinks.Redact(rawURL), err)
	}
	return s, nil
}

// open takes options of the client besides those that the URL asks for: tests bring a transport.
func open(ctx context.Context, rawURL string, opts ...option.ClientOption) (*Sink, error) {
	t, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	opts = append(opts, option.WithUserAgent(userAgent))
	if t.endpoint != "" {
		opts = append(opts, option.WithEndpoint(t.endpoint), option.WithoutAuthentication())
	}
	service, err := bq.NewService(ctx, opts...)
	if err != nil {
		return nil, fmt.Errorf("find credentials: %w; log in by gcloud auth application-default login, or run under a service account", err)
	}
	s := &Sink{target: t, service: service, options: opts, where: whereabouts{turn: newTurn()}}
	if t.staging != "" {
		if s.staging, err = openStaging(ctx, t.staging); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Settle throws away the staged file of a part that is recorded.
func (s *Sink) Settle(ctx context.Context, p sinks.Part) error {
	if s.staging == nil {
		return nil
	}
	return s.staging.settle(ctx, p, time.Now())
}

// Close closes the staging bucket.
func (s *Sink) Close() error {
	if s.staging == nil {
		return nil
	}
	return s.staging.bucket.Close()
}
