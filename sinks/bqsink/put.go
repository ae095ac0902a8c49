package bqsink

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	bq "google.golang.org/api/bigquery/v2"

	"github.com/reportferry/reportferry/sinks"
)

// Put loads the part into its partition, and counts the rows that BigQuery says it wrote. The receipt's size is that of
// the file, and 0 when the partition was cleared. When the error doesn't say otherwise, the old rows are still there;
// repeating the Put is harmless in every case.
func (s *Sink) Put(ctx context.Context, p sinks.Part) (sinks.Receipt, error) {
	at, err := locate(p)
	if err == nil {
		err = s.put(ctx, at, p)
	}
	if err != nil {
		return sinks.Receipt{}, fmt.Errorf("put %s/dt=%s to %s: %w", p.Table, p.Partition, s.url, err)
	}
	r := sinks.Receipt{Sink: s.url, Key: at.destination(), Size: p.Size}
	if p.Rows == 0 {
		r.Size = 0
	}
	return r, nil
}

func (s *Sink) put(ctx context.Context, at place, p sinks.Part) error {
	if p.Run == "" {
		return errors.New("the part names no run, and a job's ID is made of it")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	slot, err := s.places.take(ctx, at, p.Run)
	if err != nil {
		return err
	}
	defer slot.turn.give()
	if _, err := s.locateDataset(ctx); err != nil {
		return err
	}
	table, err := s.ensure(ctx, p.Table, p.Schema)
	if err != nil {
		return err
	}
	if !slot.settled {
		if err := s.settle(ctx, at); err != nil {
			return err
		}
		slot.settled = true
	}
	w, err := s.work(ctx, at, p, table)
	if err != nil {
		return err
	}
	job, err := s.attempt(ctx, w, slot)
	if err != nil {
		s.tables.forget(p.Table)
		return err
	}
	return counted(job, w)
}

// work makes the work of a part, and stages its file where there is a staging bucket.
func (s *Sink) work(ctx context.Context, at place, p sinks.Part, table *bq.Table) (*work, error) {
	labels := map[string]string{
		ownLabel: labelText(s.datasetLabel()), tableLabel: labelText(p.Table), partitionLabel: at.label(),
		runLabel: labelText(p.Run), hashLabel: labelText(p.Hash), putLabel: strings.ToLower(rand.Text()),
	}
	if p.Rows == 0 {
		return s.clearing(at, p, labels), nil
	}
	w := s.loading(at, p, table, labels)
	if s.staging != nil {
		uri, err := s.staging.upload(ctx, at, p)
		if err != nil {
			return nil, err
		}
		w.upload, w.config.Load.SourceUris = false, []string{uri}
	}
	return w, nil
}

// loading is the work of a part with rows. The schema sent is the table's own: a column of it that the file doesn't have
// is NULL, and stays a column even when a whole table is truncated, which takes over the schema of the load.
func (s *Sink) loading(at place, p sinks.Part, table *bq.Table, labels map[string]string) *work {
	load := &bq.JobConfigurationLoad{
		DestinationTable:                   s.reference(at.destination()),
		SourceFormat:                       "PARQUET",
		Schema:                             table.Schema,
		WriteDisposition:                   "WRITE_TRUNCATE",
		CreateDisposition:                  "CREATE_NEVER", // a table that is gone would come back without partitions
		DecimalTargetTypes:                 []string{"NUMERIC"},
		DestinationEncryptionConfiguration: table.EncryptionConfiguration,
	}
	if at.kind == "" {
		load.Clustering = table.Clustering
	}
	return &work{at: at, part: p, upload: true, config: &bq.JobConfiguration{Labels: labels, Load: load}}
}

// attempt does the work under one attempt after the other, as long as the reasons of the failures pass by themselves.
func (s *Sink) attempt(ctx context.Context, w *work, slot *slot) (*bq.Job, error) {
	var p patience
	for {
		job, err := s.run(ctx, w, slot)
		if err == nil {
			return job, nil
		}
		if !isJobError(err) {
			return nil, err
		}
		if err := p.again(ctx, err); err != nil {
			return nil, s.explain(err)
		}
	}
}

func isJobError(err error) bool {
	var failed *JobError
	return errors.As(err, &failed)
}

// counted compares what the job says it wrote with the part.
func counted(job *bq.Job, w *work) error {
	if w.config.Load == nil {
		return nil
	}
	id := job.JobReference.JobId
	if job.Statistics == nil || job.Statistics.Load == nil {
		return fmt.Errorf("job %s is done, but doesn't say how many rows it wrote; the new rows are visible, whole; repeat the put", id)
	}
	if got := job.Statistics.Load.OutputRows; got != w.part.Rows {
		return fmt.Errorf("job %s is done and wrote %d rows, and the part has %d: its file or its count is wrong; what was written "+
			"is visible; fetch the partition again", id, got, w.part.Rows)
	}
	return nil
}
