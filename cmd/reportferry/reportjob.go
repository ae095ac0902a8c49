package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/report"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

// reportJob makes a report job from its config entry.
func reportJob(ctx context.Context, e *engine, c config.Job) (jobs.Job, error) {
	r := c.Report
	if r.Period == "whole" && e.ask.from.IsValid() {
		return jobs.Job{}, fmt.Errorf("job %s: %w: its table has no periods, and a range of days would become all of it; use run --force", c.Name, jobs.ErrRefused)
	}
	rules, err := e.rules(c)
	if err != nil {
		return jobs.Job{}, err
	}
	targets, err := e.targets(ctx, c)
	if err != nil {
		return jobs.Job{}, err
	}
	o := report.Options{
		Job: c.Name, Table: c.Table, Run: e.run, Account: account(e.config.Service),
		Client: e.client, Ledger: e.ledger, Targets: targets,
		Start: r.Start.On, Rules: rules, Rebaseline: e.ask.rebaseline, NewColumns: e.ask.newColumns,
		Query: adjust.ReportQuery{
			Dimensions: r.Dimensions, Metrics: r.Metrics, UTCOffset: r.UTCOffset, TimezoneID: r.TimezoneID, Currency: r.Currency,
			Parameters: r.Parameters, Filters: r.Filters,
		},
		Warehouse: tablesOf(c.Warehouse), NullMissing: r.OnMissingEvent == "null", Types: r.Types, OnEmpty: jobs.OnEmpty(r.OnEmpty),
		Codec: r.Codec, SpoolDir: e.spool, Budget: e.budget, Log: e.log,
	}
	if e.ask.from.IsValid() {
		o.Start = func(civil.Date) civil.Date { return e.ask.from }
	}
	for _, s := range r.Events {
		o.Events = append(o.Events, report.Selector(s))
	}
	kind, err := report.New(o)
	if err != nil {
		return jobs.Job{}, err
	}
	return jobs.Job{Name: c.Name, Table: c.Table, Kind: kind, Targets: targets}, nil
}

// tablesOf is what the config says of tables, as sinks take it.
func tablesOf(w config.Warehouse) sinks.Schema {
	return sinks.Schema{
		ClusterBy: w.ClusterBy, RequireFilter: w.RequireFilter, Expiration: time.Duration(w.ExpireDays) * 24 * time.Hour,
		KMSKey: w.KMSKey, Labels: w.Labels,
	}
}

// account names whose numbers these are, for the fingerprint.
func account(s config.Service) string {
	if s.Embedded {
		return "embedded"
	}
	return s.AccountID
}

func (e *engine) rules(c config.Job) (jobs.Rules, error) {
	r := c.Report
	schedule, err := jobs.ParseSchedule(c.Schedule, c.Zone)
	if err != nil {
		return jobs.Rules{}, fmt.Errorf("job %s: %w: %w", c.Name, jobs.ErrRefused, err)
	}
	location, err := reportZone(c)
	if err != nil {
		return jobs.Rules{}, fmt.Errorf("job %s: %w: %w", c.Name, jobs.ErrRefused, err)
	}
	period, known := periods[r.Period]
	if !known {
		return jobs.Rules{}, fmt.Errorf("job %s: %w: no period %q", c.Name, jobs.ErrRefused, r.Period)
	}
	return jobs.Rules{
		Period:   period,
		Page:     max(1, r.Page.Count),
		Today:    r.Until == "today",
		Lookback: r.Lookback,
		Horizons: r.Horizons,
		Location: location,
		Schedule: schedule,

		LaterColumns:   r.NewColumns == "later" && !e.ask.newColumns,
		Through:        e.ask.through,
		Only:           e.ask.only,
		IgnoreSchedule: e.ask.now,
		IgnoreLedger:   e.ask.force,
	}, nil
}

// periods are the config's words for the length of a partition.
var periods = map[string]jobs.Period{
	"day": jobs.Day, "week": jobs.Week, "month": jobs.Month, "quarter": jobs.Quarter, "year": jobs.Year, "whole": jobs.Whole,
}

// reportZone is where the report's days begin and end. With a timezone_id, which may be a number of the service's own,
// the job's zone says it in IANA's words.
func reportZone(c config.Job) (*time.Location, error) {
	if c.Report.TimezoneID != "" {
		return time.LoadLocation(c.Zone)
	}
	offset, err := time.Parse("-07:00", c.Report.UTCOffset)
	if err != nil {
		return nil, fmt.Errorf("utc_offset: %w", err)
	}
	_, seconds := offset.Zone()
	return time.FixedZone("UTC"+c.Report.UTCOffset, seconds), nil
}

// targets opens the sinks of a job; the engine closes them.
func (e *engine) targets(ctx context.Context, c config.Job) ([]jobs.Target, error) {
	if e.ask.look {
		return nil, nil
	}
	var targets []jobs.Target
	for _, rawURL := range c.Sinks {
		if err := e.task.lasting(rawURL); err != nil {
			return nil, fmt.Errorf("job %s: sink %w", c.Name, err)
		}
		sink, err := sinks.Open(ctx, rawURL, openers)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", c.Name, refused(err))
		}
		e.close = append(e.close, sink.Close)
		t := jobs.Target{Name: sinks.Redact(rawURL), Sink: sink, Store: sink.Store(), NamesMore: sinks.NamesMore(rawURL)}
		if i := slices.IndexFunc(targets, func(other jobs.Target) bool { return absolute(other.Store) == absolute(t.Store) }); i >= 0 {
			return nil, fmt.Errorf("job %s: %w: the sinks %s and %s are one place, %s; leave one of them out", c.Name,
				jobs.ErrRefused, targets[i].Name, t.Name, t.Store)
		}
		targets = append(targets, t)
	}
	return targets, nil
}

// absolute is a store's identity with the path of a folder made absolute. Receipts name a relative one as it is written, so
// that it may move together with its ledger.
func absolute(store string) string {
	where, layout, _ := strings.Cut(store, "?")
	if dir, err := blobsink.LocalDir(where); err == nil && dir != "" {
		return "file://" + dir + "?" + layout
	}
	return store
}
