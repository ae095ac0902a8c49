package wire

import (
	"context"
	"fmt"
	"time"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/events"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// Events makes a job of kind events.
func Events(ctx context.Context, s *Session, c config.Job, a Ask) (jobs.Job, error) {
	if err := a.refuseRange(c, "a snapshot of events can't be taken for a day that is over"); err != nil {
		return jobs.Job{}, err
	}
	schedule, err := refresh.ParseSchedule(c.Schedule, c.Zone)
	if err != nil {
		return jobs.Job{}, fmt.Errorf("job %s: %w: %w", c.Name, ledger.ErrRefused, err)
	}
	location, err := time.LoadLocation(c.Zone)
	if err != nil {
		return jobs.Job{}, fmt.Errorf("job %s: %w: zone: %w", c.Name, ledger.ErrRefused, err)
	}
	client, err := s.jobClient(c)
	if err != nil {
		return jobs.Job{}, err
	}
	targets, err := s.targets(ctx, c)
	if err != nil {
		return jobs.Job{}, err
	}
	kind, err := events.New(events.Options{
		Job: c.Name, Table: c.Table, Run: s.RunID, Account: accountIdentity(s.Config.ServiceOf(c.Account)),
		Client: client, Ledger: s.Ledger, Targets: targets,
		Rules: refresh.Rules{
			Location: location, Schedule: schedule, IgnoreSchedule: a.Now, IgnoreLedger: a.Force,
		},
		States: s.Config.States, Rebaseline: a.Rebaseline, Apps: c.Events.Apps, Search: c.Events.Search,
		Codec: c.Events.Codec, Pages: s.Config.Parquet.Pages, SpoolDir: s.Spool, Budget: s.Budget, Log: s.Log,
		Warehouse: tablesOf(c),
	})
	if err != nil {
		return jobs.Job{}, err
	}
	return jobs.Job{Name: c.Name, Table: c.Table, Account: c.Account, Kind: kind, Targets: targets}, nil
}
