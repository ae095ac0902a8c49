package main

import (
	"context"
	"fmt"
	"time"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/events"
)

// eventsJob makes an events job from its config entry.
func eventsJob(ctx context.Context, e *engine, c config.Job) (jobs.Job, error) {
	if e.ask.from.IsValid() || e.ask.only != nil {
		return jobs.Job{}, fmt.Errorf("job %s: %w: a snapshot of events can't be taken for a day that is over", c.Name, jobs.ErrRefused)
	}
	schedule, err := jobs.ParseSchedule(c.Schedule, c.Zone)
	if err != nil {
		return jobs.Job{}, fmt.Errorf("job %s: %w: %w", c.Name, jobs.ErrRefused, err)
	}
	location, err := time.LoadLocation(c.Zone)
	if err != nil {
		return jobs.Job{}, fmt.Errorf("job %s: %w: zone: %w", c.Name, jobs.ErrRefused, err)
	}
	targets, err := e.targets(ctx, c)
	if err != nil {
		return jobs.Job{}, err
	}
	kind := events.New(events.Options{
		Job: c.Name, Table: c.Table, Run: e.run, Account: account(e.config.Service),
		Client: e.client, Ledger: e.ledger, Targets: targets,
		Rules: jobs.Rules{
			Location: location, Schedule: schedule, IgnoreSchedule: e.ask.now, IgnoreLedger: e.ask.force,
		},
		Rebaseline: e.ask.rebaseline, Apps: c.Events.Apps, Search: c.Events.Search,
		Codec: c.Events.Codec, SpoolDir: e.spool, Budget: e.budget, Log: e.log,
		Warehouse: tablesOf(c.Warehouse),
	})
	return jobs.Job{Name: c.Name, Table: c.Table, Kind: kind, Targets: targets}, nil
}
