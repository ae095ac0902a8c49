package main

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/report"
	"github.com/reportferry/reportferry/sinks"
)

// reportJob makes a report job from its config entry.
func reportJob(ctx context.Context, e *engine, c config.Job) (jobs.Job, error) {
	r := c.Report
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
		Start: r.Start.On, Rules: rules,
		Query: adjust.ReportQuery{
			Dimensions: r.Dimensions, Metrics: r.Metrics, UTCOffset: r.UTCOffset, CohortMaturity: r.CohortMaturity,
			AttributionTypes: r.AttributionTypes, AttributionSource: r.AttributionSource, Reattributed: r.Reattributed,
			IAPRevenueMode: r.IAPRevenueMode, AdSpendMode: r.AdSpendMode, Sandbox: r.Sandbox, Currency: r.Currency,
			OSNames: r.OSNames, AdRevenueSources: r.AdRevenueSources, Filters: r.Filters,
		},
		NullMissing: r.OnMissingEvent == "null", Types: r.Types, OnEmpty: jobs.OnEmpty(r.OnEmpty),
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
	return jobs.Job{Name: c.Name, Table: c.Table, Kind: kind, Finish: kind.Finish}, nil
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
	offset, err := time.Parse("-07:00", r.UTCOffset)
	if err != nil {
		return jobs.Rules{}, fmt.Errorf("job %s: %w: utc_offset: %w", c.Name, jobs.ErrRefused, err)
	}
	_, seconds := offset.Zone()
	return jobs.Rules{
		Period:   map[byte]jobs.Period{'d': jobs.Day, 'w': jobs.Week, 'm': jobs.Month}[r.Page.Unit],
		Page:     r.Page.Count,
		Today:    r.Until == "today",
		Lookback: r.Lookback,
		Location: time.FixedZone("UTC"+r.UTCOffset, seconds),
		Schedule: schedule,

		Through:        e.ask.through,
		IgnoreSchedule: e.ask.now,
		IgnoreLedger:   e.ask.force,
	}, nil
}

// targets opens the sinks of a job; the engine closes them.
func (e *engine) targets(ctx context.Context, c config.Job) ([]jobs.Target, error) {
	var targets []jobs.Target
	for _, rawURL := range c.Sinks {
		sink, err := sinks.Open(ctx, rawURL, openers)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", c.Name, refused(err))
		}
		e.close = append(e.close, sink.Close)
		targets = append(targets, jobs.Target{Name: sinks.Redact(rawURL), Sink: sink})
	}
	return targets, nil
}
