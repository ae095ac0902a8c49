package bqsink

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"cloud.google.com/go/bigquery"
	"google.golang.org/api/googleapi"

	"github.com/reportferry/reportferry/sinks"
)

// Append adds rows to a table once for each run. The job's ID is made of the table and the run
// alone, so that a repeated Append finds the job of the first one
// (https://cloud.google.com/bigquery/docs/running-jobs#generate-jobid). Rows are maps from column
// names to values that encoding/json can write. They are loaded by a job and never streamed.
func (s *Sink) Append(ctx context.Context, table string, schema *sinks.Schema, run string,
	rows []map[string]any) error {
	if len(rows) == 0 {
		return nil
	}
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	for _, row := range rows {
		if err := enc.Encode(row); err != nil {
			return fmt.Errorf("append to %s of %s: %w", table, s.url, err)
		}
	}
	if err := s.append(ctx, table, schema, run, lines.Bytes()); err != nil {
		return fmt.Errorf("append to %s of %s: %w", table, s.url, s.explain(err))
	}
	return nil
}

// append loads lines of JSON into the table by one job. The answer 409 means that an earlier call
// made the job, which append then waits for.
func (s *Sink) append(ctx context.Context, name string, schema *sinks.Schema, run string, lines []byte) error {
	if _, err := s.locateDataset(ctx); err != nil {
		return err
	}
	table, err := s.ensure(ctx, name, schema, nil)
	if err != nil {
		return err
	}
	id := fmt.Sprintf(jobPrefix+"%s_%s_%s", labelText(s.datasetLabel()), labelText(name), labelText(run))
	labels := map[string]string{ownLabel: labelText(s.datasetLabel()), tableLabel: labelText(name),
		runLabel: labelText(run)}
	var job *bigquery.Job
	err = repeat(ctx, func() (err error) {
		rows := bigquery.NewReaderSource(bytes.NewReader(lines))
		rows.SourceFormat, rows.Schema = bigquery.JSON, table.Schema
		load := s.loader(name, rows, id, labels)
		load.WriteDisposition = bigquery.WriteAppend
		load.MediaOptions = []googleapi.MediaOption{googleapi.ContentType("application/json")}
		if job, err = load.Run(ctx); hasStatus(err, http.StatusConflict) {
			job, err = s.getJob(ctx, id)
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.wait(ctx, job)
}
