package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/after"
	"github.com/reportferry/reportferry/cmd/reportferry/console"
	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/want"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// newRun makes the command run.
func newRun(p *wire.Program) *cobra.Command {
	var a wire.Ask
	var deadline *wire.Deadline
	var table *want.Table
	cmd := &cobra.Command{
		Use: "run [job...]",
		Example: `  reportferry run
  reportferry run --to ./out --embedded --currency USD \
      --dimensions day,network --metrics installs,cost
  ADJUST_TOKEN=... reportferry run --to gs://bucket/adjust --currency USD \
      --dimensions day,country_code --metrics installs --start 2026-01-01`,
		Short: "Do what is due, of all jobs or of those named",
		Long: `Do what is due. A partition is due when the job's schedule has fired since the
later of the partition's end and its last fetch, and it is missing, was last
fetched inside the lookback or before a cohort metric was final, lacks a column
that was added, or hasn't reached a sink that was. When nothing is due, nothing
is requested. The last line says when something is left out.

With --to no config is needed: the flags describe one table, as those of report
do, and its ledger is the folder .reportferry in it (for a dataset of
BigQuery: in the working directory). The same command fetches what is due when
it is given again, and with another metric the days that lack it. The other
commands want a file with what --print-config prints.

` + want.Filters + "\n\n" + exit.Help(),
		ValidArgsFunction: p.CompleteJobs,
		RunE: func(cmd *cobra.Command, names []string) error {
			if done, err := table.Take(cmd, p, names); done || err != nil {
				return err
			}
			return runJobs(cmd, p, request("manual", names, a, deadline))
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&a.Now, "now", false, "ignore the schedule: what is missing or in the lookback is due")
	cmd.Flags().BoolVar(&a.Force, "force", false, "ignore the ledger: fetch everything from start to now again")
	cmd.Flags().BoolVar(&a.Rebaseline, "rebaseline", false, "after a change of what numbers mean (currency, filters, dimensions, ...): replace every partition, one by one")
	deadline = p.AddRun(cmd)
	table = want.AddTable(cmd, p)
	return cmd
}

// newBackfill makes the command backfill: a run of one job over a range of its past.
func newBackfill(p *wire.Program) *cobra.Command {
	var b backfill
	var deadline *wire.Deadline
	cmd := &cobra.Command{
		Use: "backfill <job> --from <day> [--to <day>]",
		Example: `  reportferry backfill campaigns_daily --from 2026-01-01 --to 2026-03-31
  reportferry backfill campaigns_daily --from -30d --dry-run
  reportferry backfill campaigns_daily --gaps
  reportferry backfill campaigns_daily --missing-columns`,
		Short: "Fetch the missing partitions of a range, both ends included",
		Long: `Fetch the partitions of a range that have no record, were last fetched inside
the lookback, or lack a column; the schedule and the job's start don't matter. A
backfill that was stopped goes on where it was. Several at once share the work.

With --gaps only what has no record is fetched, with --missing-columns only what
lacks columns that the job has by now; a range is not needed then.

A day is a date such as 2026-01-31, days before today such as -30d, yesterday or
today, in the zone of the job's report. --to is yesterday unless it is given.
With --dry-run the windows are shown with why they would be fetched, as plan
shows them; nothing is asked of the service, claimed or written.

` + exit.Help(),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteJobs,
		RunE: func(cmd *cobra.Command, names []string) error {
			if b.to != "" && b.from == "" {
				return errors.New("--to needs --from, the first day of the range")
			}
			list := func(ctx context.Context, s *wire.Session) ([]jobs.Job, error) {
				a, err := b.ask(s, names[0])
				if err != nil {
					return nil, err
				}
				return s.Jobs(ctx, names, a)
			}
			if b.dry {
				return showPlans(cmd, p, names, list)
			}
			r := request("backfill", names, wire.Ask{}, deadline)
			r.Jobs = list
			return runJobs(cmd, p, r)
		},
	}
	cmd.Flags().StringVar(&b.from, "from", "", "first `day`; its whole period is fetched")
	cmd.Flags().StringVar(&b.to, "to", "", "last `day`; its whole period is fetched; default: yesterday")
	cmd.Flags().BoolVar(&b.gaps, "gaps", false, "only what has no record")
	cmd.Flags().BoolVar(&b.columns, "missing-columns", false, "only what lacks columns that the job has by now")
	cmd.Flags().BoolVar(&b.force, "force", false, "fetch recorded partitions again too")
	cmd.Flags().BoolVar(&b.dry, "dry-run", false, "only show what would be fetched, and why")
	deadline = p.AddRun(cmd)
	cmd.MarkFlagsOneRequired("from", "gaps", "missing-columns")
	for _, only := range []string{"gaps", "missing-columns"} {
		cmd.MarkFlagsMutuallyExclusive("force", only)
	}
	return cmd
}

// backfill holds the flags of the command backfill.
type backfill struct {
	from, to                  string
	gaps, columns, force, dry bool
}

// ask translates the flags. A backfill ignores the schedule, because a person asks for it.
func (b backfill) ask(s *wire.Session, job string) (a wire.Ask, err error) {
	a = wire.Ask{Now: true, Force: b.force, NewColumns: b.columns}
	if b.gaps {
		a.Only = append(a.Only, refresh.Missing, refresh.Interrupted)
	}
	if b.columns {
		a.Only = append(a.Only, refresh.NewColumns)
	}
	if b.from != "" {
		a.From, a.Through, err = s.Range(job, b.from, b.to)
	}
	return a, err
}

// request asks for one run of the jobs that are named, or of all.
func request(trigger string, names []string, a wire.Ask, d *wire.Deadline) wire.Request {
	r := wire.Request{Trigger: trigger, Named: len(names) > 0}
	if d != nil {
		r.Stop = d.Stop()
	}
	r.Jobs = func(ctx context.Context, s *wire.Session) ([]jobs.Job, error) { return s.Jobs(ctx, names, a) }
	return r
}

// runJobs opens everything, does one run in the foreground and gives its exit code as an error.
func runJobs(cmd *cobra.Command, p *wire.Program, r wire.Request) (err error) {
	ctx := cmd.Context()
	show := newDisplay(p, cmd.OutOrStdout(), cmd.ErrOrStderr())
	e, err := p.Open(ctx, show.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	code, err := once(ctx, e, r, show)
	if err != nil {
		return exit.Coded(err)
	}
	if code != jobs.ExitDone {
		return exit.Silent(code)
	}
	return nil
}

// once does one run:
//
//	jobs ─ credential ─ clock ─ plans ─ quotas ─ record begun ─ units ─ record ended ─ audit table ─ pages ─ summary
//
// Its exit code is also in the run's record. An error means that no unit was begun. serve calls it once for each firing of a
// schedule, with an engine that stays open.
func once(ctx context.Context, e *wire.Engine, r wire.Request, show *display) (code int, err error) {
	if !r.Stop.IsZero() {
		var release context.CancelFunc
		ctx, release = context.WithCancel(ctx)
		defer release()
		defer time.AfterFunc(time.Until(r.Stop), release).Stop()
	}
	defer func() {
		if err != nil && jobs.Stopped(ctx) && errors.Is(err, context.Canceled) {
			show.log.Info("interrupted before anything was begun")
			code, err = jobs.ExitInterrupted, nil
		}
	}()
	s := e.NewRun()
	s.Progress = show.told()
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.OpenSpool(); err != nil {
		return 0, err
	}
	list, err := r.Jobs(ctx, s)
	if err != nil {
		return 0, err
	}
	if !r.Offline && s.AskService(list) { // a missing credential must not leave claims behind
		if _, err := s.Token.Token(ctx); err != nil {
			return 0, fmt.Errorf("service.token: %w", exit.Refused(err))
		}
	}
	if err := checkClock(ctx, s); err != nil {
		return 0, err
	}
	plans := jobs.PlanJobs(ctx, list, time.Now())
	show.expect(list, plans, s.Waits)
	if first := begun(list, plans); len(first) > 0 {
		s.Warn(first)
	}
	if err := quotas(s.Log, list, plans); err != nil {
		return 0, err
	}
	s.Task.Begin(plans)
	record := ledger.Run{ID: s.RunID, Trigger: r.Trigger, Started: time.Now().UTC()}
	if err := s.Ledger.SaveRun(ctx, record); err != nil {
		return 0, err
	}
	runner := &jobs.Runner{
		Ledger: s.Ledger, Run: s.RunID, Lease: s.Config.Lease, Parallel: s.Client.InFlight(), Deadline: r.Stop,
		Log: s.Brief(show.log), Observe: show.progress,
	}
	record.Results = runner.RunJobs(ctx, list, plans)
	record.Exit = jobs.ExitCode(record.Results, jobs.Stopped(ctx), r.Named && s.Task.Alone())
	if err := endRecord(ctx, s.Ledger, &record); err != nil {
		show.log.Error("the run's record could not be written", "run", record.ID, "status", err)
		if record.Exit == jobs.ExitDone {
			record.Exit = jobs.ExitFailed
		}
	}
	if err := audit(ctx, s, record); err != nil {
		show.log.Error("the audit table could not be written", "run", record.ID, "status", err)
		if record.Exit == jobs.ExitDone {
			record.Exit = jobs.ExitFailed
		}
	}
	if err := console.Publish(ctx, s); err != nil { // the data is there, so the run hasn't failed
		show.log.Warn("the console's pages could not be written; the next run tries again", "export", sinks.Redact(s.Config.Export), "status", err)
	}
	if s.Config.Export != "" && ctx.Err() != nil {
		show.log.Info("the console's pages are left to the next run, because this one must end", "export", sinks.Redact(s.Config.Export))
	}
	show.summary(record)
	if !show.json && !show.mute && (r.Trigger == "manual" || r.Trigger == "backfill") { // a person waits, and nobody looks at a daemon
		after.Run(ctx, show.out, s, list, record.Results, time.Now())
	}
	return record.Exit, nil
}

// begun names the jobs whose first partition is missing. What is probably not meant is said while it is easy to change: a table
// without days is warned of once, and not each night.
func begun(list []jobs.Job, plans []jobs.Planned) (names []string) {
	for i, p := range plans {
		if len(p.Units) > 0 && len(p.Units[0].Due) > 0 && p.Units[0].Due[0].Reason == refresh.Missing {
			names = append(names, list[i].Name)
		}
	}
	return names
}

// endRecord writes how the run ended. It takes up to three seconds of its own, because ctx is done when the run was stopped.
func endRecord(ctx context.Context, ledger *ledger.Ledger, r *ledger.Run) error {
	ended := time.Now().UTC()
	r.Ended = &ended
	for _, res := range r.Results {
		for _, g := range grouped(res.Errs) {
			r.Errors = append(r.Errors, res.Job+": "+terminal.Text(g)) // so that whoever prints the ledger's JSON is safe from control characters
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	for _, res := range r.Results {
		if slices.ContainsFunc(res.Errs, func(err error) bool { return errors.Is(err, adjust.ErrClock) }) {
			return ledger.ForgetRun(ctx, r.ID) // IDs sort by date: a record of the future would stay the newest one
		}
	}
	return ledger.SaveRun(ctx, *r)
}

// checkClock compares this machine's clock with that of the ledger's bucket, and refuses to begin when they are far apart. The
// client compares the service's clock with each answer. A folder has no clock of its own, so the date of its last run has to
// do.
func checkClock(ctx context.Context, s *wire.Session) error {
	theirs, known, err := s.Ledger.Clock(ctx)
	if err != nil {
		return err
	}
	if known {
		warning, err := transport.CheckClock("the ledger's bucket", theirs, time.Now())
		if warning != "" {
			s.Log.Warn(warning)
		}
		return err
	}
	last, ran, err := s.Ledger.LastRun(ctx)
	if err != nil {
		return nil // SaveRun reports the same trouble in a moment
	}
	if now := time.Now(); ran && last.Started.Sub(now) > transport.ClockRefuses {
		s.Log.Warn("the ledger's last run began at "+last.Started.UTC().Format(time.RFC3339)+", which is in the future by this machine's clock: "+
			"it is wrong now, or was then", "run", last.ID)
	}
	return nil
}
