package bqsink

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/bigquery"

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
	if err := counted(job, w); err != nil || s.staging == nil {
		return err
	}
	// The job is done, so nothing reads the staged files any more. A file that stays does no harm and goes with a later one.
	if err := s.staging.tidy(ctx, at, w.staged, time.Now()); err != nil && p.Warn != nil {
		p.Warn(err)
	}
	return nil
}

// work makes the work of a part, and stages its file where there is a staging bucket.
func (s *Sink) work(ctx context.Context, at place, p sinks.Part, table *bigquery.TableMetadata) (w *work, err error) {
	w = &work{at: at, part: p, table: table, labels: map[string]string{
		ownLabel: labelText(s.datasetLabel()), tableLabel: labelText(p.Table), partitionLabel: at.label(),
		runLabel: labelText(p.Run), hashLabel: labelText(p.Hash), putLabel: strings.ToLower(rand.Text()),
	}}
	switch {
	case p.Rows == 0:
		w.query = s.deletion(at, p.Schema)
	case s.staging != nil:
		w.staged, err = s.staging.upload(ctx, at, p)
	}
	return w, err
}

// format is the file's. The schema sent is the table's own: a column of it that the file doesn't have is NULL, and stays
// a column even when a whole table is truncated, which takes over the schema of the load.
func (w *work) format() bigquery.FileConfig {
	return bigquery.FileConfig{SourceFormat: bigquery.Parquet, Schema: w.table.Schema}
}

// replacement is a load in the place of what is there.
func (s *Sink) replacement(w *work, file bigquery.LoadSource, id string) *bigquery.Loader {
	load := s.loader(w.at.destination(), file, id, w.labels)
	load.WriteDisposition = bigquery.WriteTruncate
	load.DecimalTargetTypes = []bigquery.DecimalTargetType{bigquery.NumericTargetType}
	load.DestinationEncryptionConfig = w.table.EncryptionConfig
	if w.at.kind == "" {
		load.Clustering = w.table.Clustering
	}
	return load
}

// loader is a load job under an ID. It never makes a table: one that is gone would come back without partitions.
func (s *Sink) loader(table string, file bigquery.LoadSource, id string, labels map[string]string) *bigquery.Loader {
	load := s.table(table).LoaderFrom(file)
	load.JobID, load.Location, load.Labels = id, s.where.location, labels
	load.CreateDisposition = bigquery.CreateNever
	return load
}

// attempt does the work under one attempt after the other, as long as the reasons of the failures pass by themselves.
func (s *Sink) attempt(ctx context.Context, w *work, slot *slot) (*bigquery.Job, error) {
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
func counted(job *bigquery.Job, w *work) error {
	if w.query != "" {
		return nil
	}
	wrote, told := loaded(job)
	if !told {
		return fmt.Errorf("job %s is done, but doesn't say how many rows it wrote; the new rows are visible, whole; repeat the put", job.ID())
	}
	if wrote != w.part.Rows {
		return fmt.Errorf("job %s is done and wrote %d rows, and the part has %d: its file or its count is wrong; what was written "+
			"is visible; fetch the partition again", job.ID(), wrote, w.part.Rows)
	}
	return nil
}

// loaded is the number of rows that a load says it wrote, if it says it.
func loaded(job *bigquery.Job) (rows int64, told bool) {
	if job.LastStatus() == nil || job.LastStatus().Statistics == nil {
		return 0, false
	}
	load, told := job.LastStatus().Statistics.Details.(*bigquery.LoadStatistics)
	if !told {
		return 0, false
	}
	return load.OutputRows, true
}
