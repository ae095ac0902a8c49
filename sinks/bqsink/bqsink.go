// Package bqsink keeps tables in BigQuery and replaces them a partition at a time. Without it there
// would be files only, and every dashboard would need somebody who loads them: not twice, not half,
// and not in the wrong order.
//
// Put takes a part, which is one Parquet file, and gives a receipt that names table$partition:
//
//	lock the partition ─ dataset's location ─ table, created or widened ─ job IDs of earlier leases, used up
//	   └─ load job with WRITE_TRUNCATE into table$partition (a part without rows: DELETE) ─ wait ─ count the rows
//
// WRITE_TRUNCATE is atomic when the job completes
// (https://cloud.google.com/bigquery/docs/reference/rest/v2/Job, writeDisposition). The job's ID is
// chosen here: when an answer is lost, the same request is sent again under the same ID, and the
// answer 409 leads to the job that the first request made
// (https://cloud.google.com/bigquery/docs/running-jobs#generate-jobid). The ID contains the lease's
// token. Before the first load under a lease, the IDs that a process with an earlier lease might
// use are used up by queries that do nothing, and jobs that have one are waited for: a process that
// was suspended and wakes up can't put older rows over newer ones. Rows are never streamed.
//
// What only BigQuery can do is in methods of Sink that the commands call: Append for audit tables,
// Named and SaveView for dashboards, Probe for a check before the first run.
//
// All calls go through cloud.google.com/go/bigquery. That client repeats a failed call until the
// context ends, so a transport below it (singleTry) hides failures from it: each call is then one
// request, and the only retries are those of this package, which are bounded and reported. The
// client still repeats the chunks of a resumable upload by itself.
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

// A Sink is one dataset. It is safe for concurrent use.
type Sink struct {
	target
	client      *bigquery.Client // of the project that pays for the jobs
	staging     *staging         // nil when files are uploaded with their jobs
	datasetInfo datasetInfo      // the dataset's location and default, once they were looked up
	tables      tables           // what this process knows of the dataset's tables
	slots       slots            // locks of the partitions
	pace        pace             // the rate limit of jobs
}

// Open opens the dataset that a URL names:
//
//	bigquery://project/dataset?location=EU&staging=gs://bucket/prefix&job_project=p
//
// All parameters are optional. A dataset that isn't at location is refused. With staging, files are
// loaded from that bucket instead of being uploaded with their jobs. job_project pays for the jobs
// instead of the dataset's project. endpoint is the http URL of an emulator on this machine, which
// is called without credentials; BigQuery itself is called with the application's default ones
// (https://cloud.google.com/docs/authentication/application-default-credentials). Open calls
// neither BigQuery nor the bucket.
func Open(ctx context.Context, rawURL string) (sinks.Sink, error) {
	s, err := OpenOver(ctx, rawURL, nil)
	if err != nil {
		return nil, fmt.Errorf("open sink %s: %w", sinks.Redact(rawURL), err)
	}
	return s, nil
}

// OpenOver does what Open does, over a transport of the caller's. If that is nil, it makes one that
// adds credentials.
func OpenOver(ctx context.Context, rawURL string, transport http.RoundTripper) (*Sink, error) {
	t, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	if transport == nil {
		if transport, err = login(t.endpoint != "", nil); err != nil {
			return nil, err
		}
	}
	opts := []option.ClientOption{option.WithHTTPClient(&http.Client{Transport: singleTry{transport}})}
	if t.endpoint != "" {
		opts = append(opts, option.WithEndpoint(t.endpoint))
	}
	client, err := bigquery.NewClient(ctx, t.jobProject, opts...)
	if err != nil {
		return nil, err
	}
	s := &Sink{target: t, client: client, datasetInfo: datasetInfo{mutex: newMutex()}}
	if t.staging != "" {
		if s.staging, err = openStaging(ctx, t.staging); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Store names the dataset and, when an emulator stands for BigQuery, the emulator.
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
