package main

import (
	"context"
	"fmt"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/bqsink"
)

// auditRuns names a table in BigQuery next to the jobs' own, from which a dashboard can show what
// each run did. What a run did to each partition is in the tables of package state.
const auditRuns = "_reportferry_runs"

// auditRunsSchema has a row for each job of a run.
var auditRunsSchema = &sinks.Schema{Period: "whole", Columns: []sinks.Column{
	{Name: "run", Type: sinks.String, Required: true, Description: "ID of the run; it sorts by time"},
	{Name: "trigger", Type: sinks.String, Description: "schedule, manual or backfill"},
	{Name: "job", Type: sinks.String, Required: true, Description: "Job of the config"},
	{Name: "table_name", Type: sinks.String, Description: "Its table"},
	{Name: "started", Type: sinks.DateTime, Description: "UTC"},
	{Name: "ended", Type: sinks.DateTime, Description: "UTC"},
	{Name: "exit_code", Type: sinks.Int64, Description: "Of the run, over all its jobs"},
	{Name: "written", Type: sinks.Int64, Description: "Partitions that were put"},
	{Name: "unchanged", Type: sinks.Int64, Description: "Partitions whose content the sinks held already"},
	{Name: "empty", Type: sinks.Int64, Description: "Partitions without rows"},
	{Name: "failed", Type: sinks.Int64, Description: "Partitions that failed"},
	{Name: "requests", Type: sinks.Int64, Description: "Asked of the service"},
	{Name: "row_count", Type: sinks.Int64, Description: "Rows fetched"},
	{Name: "error", Type: sinks.String, Description: "The first error"},
}}

// audit appends a row for each job of a run to the audit table when the config names a dataset for
// it. The append's ID is the run's ID, so that repeating it adds nothing.
func audit(ctx context.Context, s *wire.RunInfo) error {
	if s.Config.Audit == "" {
		return nil
	}
	sink, err := s.OpenSink(ctx, s.Config.Audit)
	if err != nil {
		return err
	}
	warehouse, ok := sink.(*bqsink.Sink)
	if !ok {
		return fmt.Errorf("%w: only a bigquery:// sink keeps the audit table", ledger.ErrRefused)
	}
	var runs []map[string]any
	for _, res := range s.Record.Results {
		runs = append(runs, auditRun(s.Record, res))
	}
	return warehouse.Append(ctx, auditRuns, auditRunsSchema, s.RunID, runs)
}

// auditRun returns the row for one job of a run.
func auditRun(r ledger.Run, res ledger.Result) map[string]any {
	row := map[string]any{
		"run": r.ID, "trigger": r.Trigger, "job": res.Job, "table_name": res.Table, "started": dateTime(r.Started),
		"exit_code": r.Exit, "written": res.Outcome.Written, "unchanged": res.Outcome.Unchanged,
		"empty":  res.Outcome.Empty,
		"failed": res.Outcome.Failed, "requests": res.Outcome.Requests, "row_count": res.Outcome.Rows,
	}
	if r.Ended != nil {
		row["ended"] = dateTime(*r.Ended)
	}
	if len(res.Failures) > 0 {
		row["error"] = res.Failures[0].Error
	}
	return row
}

// dateTime formats a time as BigQuery's DATETIME, in UTC.
func dateTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }
