package wire

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/partition"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/report"
	"github.com/reportferry/reportferry/jobs/slugs"
	"github.com/reportferry/reportferry/sinks"
)

// Report makes a job of kind report.
func Report(ctx context.Context, s *Session, c config.Job, a Ask) (jobs.Job, error) {
	// What the config and the command line say: rules, client, sinks, raw answers.
	r := c.Report
	if r.Period == "whole" && a.From.IsValid() {
		return jobs.Job{}, fmt.Errorf("job %s: %w: its table has no periods, and a range of days would become all "+
			"of it; use run --force", c.Name, ledger.ErrRefused)
	}
	rules, err := rulesOf(c, a)
	if err != nil {
		return jobs.Job{}, err
	}
	client, err := s.jobClient(c)
	if err != nil {
		return jobs.Job{}, err
	}
	targets, err := s.targets(ctx, c)
	if err != nil {
		return jobs.Job{}, err
	}
	kept, err := s.Raw(ctx, c)
	if err != nil {
		return jobs.Job{}, err
	}
	o := report.Options{
		Job: c.Name, Table: c.Table, Run: s.RunID, Account: accountIdentity(s.Config.ServiceOf(c.Account)),
		Client: client, Ledger: s.Ledger, Targets: targets,
		Start: r.Start.On, Rules: rules, States: s.Config.States, FinalAfter: max(0, r.FinalAfter),
		Rebaseline: a.Rebaseline, NewColumns: a.NewColumns,
		Query: adjust.ReportQuery{
			Dimensions: r.Dimensions, Metrics: r.Metrics, UTCOffset: r.UTCOffset, TimezoneID: r.TimezoneID,
			Currency:   r.Currency,
			Parameters: r.Parameters, Filters: r.Filters,
		},
		Warehouse: tablesOf(c), NullMissing: r.OnMissingEvent == "null", Types: r.Types, Rename: r.Rename,
		Frozen: r.Contract == "freeze", Drop: r.Drop, OnEmpty: partition.OnEmpty(r.OnEmpty),
		FailText: r.BadText == "fail", Guard: float64(r.Guard), Visible: s.visible(c.Account),
		Listed:    r.AppScope == "listed",
		Reconcile: report.Reconcile(r.Reconcile.Then), Cohorts: float64(r.Reconcile.Cohorts),
		Drift: report.Drift(r.Drift), Probe: r.Probe,
		Codec: r.Codec, Pages: s.Config.Parquet.Pages, SpoolDir: s.Spool, Hold: table.HoldSmall, Budget: s.Budget,
		Raw: kept, Log: s.Log,
	}
	// What depends on other jobs, on the range that is asked for, and on optional keys.
	if r.ZoneByName() {
		o.Query.TimezoneID, o.Query.Zone = "", rules.Location
	}
	for _, other := range s.Config.Jobs {
		if other.Events != nil && other.Account == c.Account && s.Ledger != nil {
			o.SlugHistories = append(o.SlugHistories, slugs.Open(s.Ledger, other.Name, other.Table))
		}
	}
	if a.From.IsValid() {
		o.Start = func(civil.Date) civil.Date { return a.From }
	}
	if r.Extra.LoadedAt {
		o.Stamps = append(o.Stamps, table.LoadedAt)
	}
	if r.Extra.Run {
		o.Stamps = append(o.Stamps, table.LoadedBy)
	}
	for _, selector := range r.Events {
		o.Events = append(o.Events, report.Selector(selector))
	}
	kind, err := report.New(o)
	if err != nil {
		return jobs.Job{}, err
	}
	return jobs.Job{Name: c.Name, Table: c.Table, Account: c.Account, Kind: kind, Targets: targets}, nil
}

// visible returns a function that lists the apps that an account's token shows. The service is
// asked once per session, and the session's jobs share the answer. The request counts as one of the
// job that asks first.
func (s *Session) visible(account string) func(context.Context, *adjust.Client) ledger.Scope {
	if s.apps == nil {
		s.apps = map[string]*visibleApps{}
	}
	if s.apps[account] == nil {
		s.apps[account] = &visibleApps{}
	}
	v := s.apps[account]
	return func(ctx context.Context, client *adjust.Client) ledger.Scope {
		v.asked.Do(func() { v.scope = report.Visible(ctx, client) })
		return v.scope
	}
}

// visibleApps holds the apps that the token of one account shows, once they were asked for.
type visibleApps struct {
	asked sync.Once
	scope ledger.Scope
}

// tablesOf translates the config's options of databases' tables for the sinks.
func tablesOf(c config.Job) sinks.Schema {
	w := c.Warehouse
	return sinks.Schema{
		ClusterBy: w.ClusterBy, RequireFilter: w.RequireFilter,
		Expiration: time.Duration(w.ExpireDays) * 24 * time.Hour,
		KMSKey:     w.KMSKey, Labels: w.Labels, Partitioned: c.Postgres.Partitioned, Indexes: c.Postgres.Indexes,
		History: time.Duration(c.Iceberg.ExpireDays) * 24 * time.Hour,
	}
}

// accountIdentity returns what identifies the account in the fingerprint of what numbers mean.
func accountIdentity(s config.Service) string {
	if s.Embedded {
		return "embedded"
	}
	return s.AccountID
}

// rulesOf translates the schedule and the refresh options of a report job, and adds what the
// command line asks.
func rulesOf(c config.Job, a Ask) (refresh.Rules, error) {
	r := c.Report
	schedule, err := refresh.ParseSchedule(c.Schedule, c.Zone)
	if err != nil {
		return refresh.Rules{}, fmt.Errorf("job %s: %w: %w", c.Name, ledger.ErrRefused, err)
	}
	location, err := reportZone(c)
	if err != nil {
		return refresh.Rules{}, fmt.Errorf("job %s: %w: %w", c.Name, ledger.ErrRefused, err)
	}
	period, known := periods[r.Period]
	if !known {
		return refresh.Rules{}, fmt.Errorf("job %s: %w: no period %q", c.Name, ledger.ErrRefused, r.Period)
	}
	return refresh.Rules{
		Period:   period,
		Page:     max(1, r.Page.Count),
		Today:    r.Until == "today",
		Lookback: r.Lookback,
		Horizons: r.Horizons,
		Location: location,
		Schedule: schedule,

		LaterColumns:   r.NewColumns == "later" && !a.NewColumns,
		Through:        a.Through,
		Only:           a.Only,
		IgnoreSchedule: a.Now || a.Rebaseline, // all partitions get the new meaning
		IgnoreLedger:   a.Force,
	}, nil
}

// periods gives the lengths of partitions by their words in the config.
var periods = map[string]refresh.Period{
	"day": refresh.Day, "week": refresh.Week, "month": refresh.Month, "quarter": refresh.Quarter, "year": refresh.Year,
	"whole": refresh.Whole,
}

// reportZone returns the zone in which the report's days begin and end. A timezone_id may be a
// number of the service's own, so with a timezone_id the job's zone is used, which is an IANA name.
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
