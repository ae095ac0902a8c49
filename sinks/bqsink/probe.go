package bqsink

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"cloud.google.com/go/bigquery"

	"github.com/reportferry/reportferry/sinks"
)

// Probe tries what Put needs and leaves nothing behind. It looks up the dataset and its location,
// creates and deletes a table, and runs a query that reads no table, and so costs nothing, in the
// project that pays for the jobs. With staging it also writes, reads and deletes a file there.
func (s *Sink) Probe(ctx context.Context) error {
	if _, err := s.locateDataset(ctx); err != nil {
		return fmt.Errorf("probe %s: %w", s.url, err)
	}
	if err := s.probeTable(ctx); err != nil {
		return fmt.Errorf("probe %s: %w", s.url, err)
	}
	if err := s.probeJob(ctx); err != nil {
		return fmt.Errorf("probe %s: run a query as project %s: %w", s.url, s.jobProject, s.explain(err))
	}
	if s.staging == nil {
		return nil
	}
	if err := sinks.ProbeBucket(ctx, s.staging.bucket, s.staging.prefix); err != nil {
		return fmt.Errorf("probe %s: staging %s: %w", s.url, s.staging.url, err)
	}
	return nil
}

// probeTable creates and deletes a table. The table expires after an hour, in case this process is
// killed in between.
func (s *Sink) probeTable(ctx context.Context) error {
	name := "_reportferry_probe_" + rand.Text()
	made := &bigquery.TableMetadata{
		Schema:         bigquery.Schema{{Name: "probe", Type: bigquery.StringFieldType}},
		ExpirationTime: time.Now().Add(time.Hour),
	}
	table := s.table(name)
	if err := repeat(ctx, func() error { return table.Create(ctx, made) }); err != nil {
		return fmt.Errorf("create the table %s: %w", name, s.explain(err))
	}
	if err := repeat(ctx, func() error { return table.Delete(context.WithoutCancel(ctx)) }); err != nil {
		return fmt.Errorf("delete the table %s, which BigQuery does in an hour: %w", name, s.explain(err))
	}
	return nil
}

// probeJob runs a query that reads no table.
func (s *Sink) probeJob(ctx context.Context) error {
	var job *bigquery.Job
	err := repeat(ctx, func() (err error) {
		q := s.client.Query("SELECT 1")
		q.Location = s.datasetInfo.location
		job, err = q.Run(ctx)
		return unhide(err)
	})
	if err != nil {
		return err
	}
	return s.wait(ctx, job)
}
