package bqsink

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/bigquery"

	"github.com/reportferry/reportferry/sinks"
)

// Put loads the part into its partition and compares the number of rows that BigQuery says it
// wrote. The receipt's size is that of the file in bytes, and 0 when the part has no rows and the
// partition was cleared. After an error the old rows are still there, unless the error says
// otherwise. Repeating a Put is harmless in every case.
func (s *Sink) Put(ctx context.Context, p sinks.Part) (sinks.Receipt, error) {
	p.Table = sinks.Flat(p.Table)
	at, err := locate(p)
	var version string
	if err == nil {
		version, err = s.put(ctx, at, p)
	}
	if err != nil {
		return sinks.Receipt{}, fmt.Errorf("put %s/dt=%s to %s: %w", p.Table, p.Partition, s.url, err)
	}
	r := sinks.Receipt{Sink: s.url, Key: at.destination(), Size: p.Size, Version: version}
	if p.Rows == 0 {
		r.Size = 0
	}
	return r, nil
}

func (s *Sink) put(ctx context.Context, at place, p sinks.Part) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	slot, err := s.places.take(ctx, at, strings.ToLower(cmp.Or(p.Lease, rand.Text())))
	if err != nil {
		return "", err
	}
	defer slot.turn.give()
	if _, err := s.locateDataset(ctx); err != nil {
		return "", err
	}
	table, err := s.ensure(ctx, p.Table, p.Schema, p.Warn)
	if err == nil {
		err = tooOld(at, table, time.Now())
	}
	if err != nil {
		return "", err
	}
	if err := s.useUpAll(ctx, at, slot, p.Earlier); err != nil {
		return "", err
	}
	w, err := s.specOf(ctx, at, p, table)
	if err != nil {
		return "", err
	}
	job, err := s.attempt(ctx, w, slot)
	if err != nil {
		s.tables.forget(p.Table)
		return "", err
	}
	if err := counted(job, w); err != nil || s.staging == nil {
		return version(table), err
	}
	// The job is done, so nothing reads the staged files any more. A file that stays does no harm
	// and goes with a later one.
	if err := s.staging.tidy(ctx, at, w.staged, time.Now()); err != nil && p.Warn != nil {
		p.Warn(err)
	}
	return version(table), nil
}

// specOf says what the job of a part should do. With a staging bucket it also writes the part's
// file there.
func (s *Sink) specOf(ctx context.Context, at place, p sinks.Part, table *bigquery.TableMetadata) (w *jobSpec,
	err error) {
	w = &jobSpec{at: at, part: p, table: table, labels: map[string]string{
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

// format describes the file. The schema that is sent is the table's own. A column that the file
// lacks is then NULL, and the table keeps the column even when the load truncates the whole table,
// which replaces the table's schema by the load's.
func (w *jobSpec) format() bigquery.FileConfig {
	return bigquery.FileConfig{SourceFormat: bigquery.Parquet, Schema: w.table.Schema}
}

// replacement returns a load job that replaces what the destination holds.
func (s *Sink) replacement(w *jobSpec, file bigquery.LoadSource, id string) *bigquery.Loader {
	load := s.loader(w.at.destination(), file, id, w.labels)
	load.WriteDisposition = bigquery.WriteTruncate
	load.DecimalTargetTypes = []bigquery.DecimalTargetType{bigquery.NumericTargetType}
	load.DestinationEncryptionConfig = w.table.EncryptionConfig
	if w.at.kind == "" {
		load.Clustering = w.table.Clustering
	}
	return load
}

// loader returns a load job under an ID. The job never creates the table, which would come back
// without partitions.
func (s *Sink) loader(table string, file bigquery.LoadSource, id string, labels map[string]string) *bigquery.Loader {
	load := s.table(table).LoaderFrom(file)
	load.JobID, load.Location, load.Labels = id, s.where.location, labels
	load.CreateDisposition = bigquery.CreateNever
	return load
}

// attempt runs one job after the other, as long as each fails for a reason that passes by itself.
func (s *Sink) attempt(ctx context.Context, w *jobSpec, slot *slot) (*bigquery.Job, error) {
	var job *bigquery.Job
	var other error // an error that isn't a job's
	err := repeat(ctx, func() error {
		if job, other = s.run(ctx, w, slot); isJobError(other) {
			return other
		}
		return nil
	})
	if err != nil {
		return nil, s.explain(err)
	}
	return job, other
}

func isJobError(err error) bool {
	var failed *JobError
	return errors.As(err, &failed)
}

// counted compares the number of rows that the job wrote with the part's.
func counted(job *bigquery.Job, w *jobSpec) error {
	if w.query != "" {
		return nil
	}
	wrote, known := loaded(job)
	if !known {
		return fmt.Errorf("job %s is done, but doesn't say how many rows it wrote; the new rows are visible, whole; "+
			"repeat the put", job.ID())
	}
	if wrote != w.part.Rows {
		return fmt.Errorf("job %s is done and wrote %d rows, and the part has %d: its file or its count is wrong; "+
			"what was written "+
			"is visible; fetch the partition again", job.ID(), wrote, w.part.Rows)
	}
	return nil
}

// loaded returns the number of rows that a load job wrote; known is false when the job's statistics
// lack it.
func loaded(job *bigquery.Job) (rows int64, known bool) {
	if job.LastStatus() == nil || job.LastStatus().Statistics == nil {
		return 0, false
	}
	load, known := job.LastStatus().Statistics.Details.(*bigquery.LoadStatistics)
	if !known {
		return 0, false
	}
	return load.OutputRows, true
}

// deletion returns the statement for a part without rows: a DELETE of exactly one partition. It
// scans no rows, because it removes a partition as a whole
// (https://cloud.google.com/bigquery/docs/using-dml-with-partitioned-tables). Loading a file
// without rows would clear the partition too, but a job that wrote no rows looks the same as one
// that did nothing.
func (s *Sink) deletion(at place, schema *sinks.Schema) string {
	table := fmt.Sprintf("`%s.%s.%s`", s.project, s.dataset, at.table)
	if at.kind == "" {
		return "DELETE FROM " + table + " WHERE TRUE"
	}
	literal := "DATE '%s'"
	for _, c := range schema.Columns {
		if c.Name == schema.On && c.Type == sinks.DateTime {
			literal = "DATETIME '%s 00:00:00'"
		}
	}
	return fmt.Sprintf("DELETE FROM %s WHERE `%s` >= "+literal+" AND `%s` < "+literal, table, schema.On, at.first,
		schema.On, at.end())
}
