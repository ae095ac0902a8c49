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

// put loads the part while it holds the partition's slot, and returns the table's version.
func (s *Sink) put(ctx context.Context, at place, p sinks.Part) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	slot, err := s.slots.acquire(ctx, at, strings.ToLower(cmp.Or(p.Lease, rand.Text())))
	if err != nil {
		return "", err
	}
	defer slot.mutex.unlock()
	if _, err := s.locateDataset(ctx); err != nil {
		return "", err
	}
	table, err := s.ensure(ctx, p.Table, p.Schema, p.Warn)
	if err == nil {
		err = checkAge(at, table, time.Now())
	}
	if err != nil {
		return "", err
	}
	if err := s.useUpAll(ctx, at, slot, p.Earlier); err != nil {
		return "", err
	}
	spec, err := s.newJobSpec(ctx, at, p, table)
	if err != nil {
		return "", err
	}
	job, err := s.attempt(ctx, spec, slot)
	if err != nil {
		s.tables.forget(p.Table)
		return "", err
	}
	if err := checkRows(job, spec); err != nil || s.staging == nil {
		return version(table), err
	}
	// The job is done, so nothing reads the staged files any more. A file that stays does no harm
	// and goes with a later one.
	if err := s.staging.cleanUp(ctx, at, spec.staged, time.Now()); err != nil && p.Warn != nil {
		p.Warn(err)
	}
	return version(table), nil
}

// newJobSpec returns what the job of a part should do. With a staging bucket it also writes the
// part's file there.
func (s *Sink) newJobSpec(ctx context.Context, at place, p sinks.Part, table *bigquery.TableMetadata) (spec *jobSpec,
	err error) {
	spec = &jobSpec{at: at, part: p, table: table, labels: map[string]string{
		ownLabel: labelText(s.datasetLabel()), tableLabel: labelText(p.Table), partitionLabel: at.label(),
		runLabel: labelText(p.Run), hashLabel: labelText(p.Hash), putLabel: strings.ToLower(rand.Text()),
	}}
	switch {
	case p.Rows == 0:
		spec.query = s.deletion(at, p.Schema)
	case s.staging != nil:
		spec.staged, err = s.staging.upload(ctx, at, p)
	}
	return spec, err
}

// format describes the file. The schema that is sent is the table's own. A column that the file
// lacks is then NULL, and the table keeps the column even when the load truncates the whole table,
// which replaces the table's schema by the load's.
func (spec *jobSpec) format() bigquery.FileConfig {
	return bigquery.FileConfig{SourceFormat: bigquery.Parquet, Schema: spec.table.Schema}
}

// replacement returns a load job that replaces what the destination holds.
func (s *Sink) replacement(spec *jobSpec, file bigquery.LoadSource, id string) *bigquery.Loader {
	load := s.loader(spec.at.destination(), file, id, spec.labels)
	load.WriteDisposition = bigquery.WriteTruncate
	load.DecimalTargetTypes = []bigquery.DecimalTargetType{bigquery.NumericTargetType}
	load.DestinationEncryptionConfig = spec.table.EncryptionConfig
	if spec.at.kind == "" {
		load.Clustering = spec.table.Clustering
	}
	return load
}

// loader returns a load job under an ID. The job never creates the table, which would come back
// without partitions.
func (s *Sink) loader(table string, file bigquery.LoadSource, id string, labels map[string]string) *bigquery.Loader {
	load := s.table(table).LoaderFrom(file)
	load.JobID, load.Location, load.Labels = id, s.datasetInfo.location, labels
	load.CreateDisposition = bigquery.CreateNever
	return load
}

// attempt runs the job, and then others like it as long as each fails for a reason that passes by
// itself. An error of run that isn't a job's ends this at once, because run has its own retries.
func (s *Sink) attempt(ctx context.Context, spec *jobSpec, slot *slot) (*bigquery.Job, error) {
	var job *bigquery.Job
	var other error // an error that isn't a job's
	err := repeat(ctx, func() error {
		if job, other = s.run(ctx, spec, slot); isJobError(other) {
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

// checkRows compares the number of rows that the job wrote with the part's.
func checkRows(job *bigquery.Job, spec *jobSpec) error {
	if spec.query != "" {
		return nil
	}
	wrote, known := rowsWritten(job)
	if !known {
		return fmt.Errorf("job %s is done, but doesn't say how many rows it wrote; the new rows are visible, whole; "+
			"repeat the put", job.ID())
	}
	if wrote != spec.part.Rows {
		return fmt.Errorf("job %s is done and wrote %d rows, and the part has %d: its file or its count is wrong; "+
			"what was written "+
			"is visible; fetch the partition again", job.ID(), wrote, spec.part.Rows)
	}
	return nil
}

// rowsWritten returns the number of rows that a load job wrote; known is false when the job's
// statistics lack it.
func rowsWritten(job *bigquery.Job) (rows int64, known bool) {
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
