package main

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/run"
	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/cmd/reportferry/wire/want"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
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

` + want.Filters + "\n\n" + text.ExitHelp(),
		ValidArgsFunction: p.CompleteJobs,
		RunE: func(cmd *cobra.Command, names []string) error {
			if done, err := table.Take(cmd, p, names); done || err != nil {
				return err
			}
			from, to, asked, err := orchestratorRange(p)
			if err != nil {
				return err
			}
			if asked && len(names) == 1 {
				return runJobs(cmd, p, backfill{from: from, to: to}.request(names, deadline))
			}
			return runJobs(cmd, p, newRequest("manual", names, a, deadline))
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&a.Now, "now", false, "ignore the schedule: what is missing or in the lookback is due")
	cmd.Flags().BoolVar(&a.Force, "force", false, "ignore the ledger: fetch everything from start to now again")
	cmd.Flags().BoolVar(&a.Rebaseline, "rebaseline", false,
		"after a change of what numbers mean (currency, filters, dimensions, ...): replace every partition, one by one")
	deadline = p.AddRun(cmd)
	table = want.AddTable(cmd, p)
	return cmd
}

// newBackfill makes the command backfill: a run of one job over a range of its past.
func newBackfill(p *wire.Program) *cobra.Command {
	var b backfill
	var form *wire.Output
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
shows them; nothing is asked of the service, leased or written.

` + text.ExitHelp(),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteJobs,
		RunE: func(cmd *cobra.Command, names []string) error {
			if b.to != "" && b.from == "" {
				return errors.New("--to needs --from, the first day of the range")
			}
			if !b.gaps && !b.columns && b.from == "" {
				var asked bool
				var err error
				if b.from, b.to, asked, err = orchestratorRange(p); err != nil {
					return err
				}
				if !asked {
					return errors.New("the step of Dagster asks for no partition, so --from, --gaps or " +
						"--missing-columns is needed")
				}
			}
			r := b.request(names, deadline)
			if b.dry {
				return showPlans(cmd, p, form, names, r.Jobs)
			}
			return runJobs(cmd, p, r)
		},
	}
	cmd.Flags().StringVar(&b.from, "from", "", "first `day`; its whole period is fetched")
	cmd.Flags().StringVar(&b.to, "to", "", "last `day`; its whole period is fetched; default: yesterday")
	cmd.Flags().BoolVar(&b.gaps, "gaps", false, "only what has no record")
	cmd.Flags().BoolVar(&b.columns, "missing-columns", false, "only what lacks columns that the job has by now")
	cmd.Flags().BoolVar(&b.force, "force", false, "fetch recorded partitions again too")
	cmd.Flags().BoolVar(&b.dry, "dry-run", false, "only show what would be fetched, and why")
	form = p.AddOutput(cmd, "of --dry-run, one object a job", plannedJob{})
	deadline = p.AddRun(cmd)
	if _, asked := p.LookupEnv(run.DagsterVariable); !asked {
		cmd.MarkFlagsOneRequired("from", "gaps", "missing-columns")
	}
	for _, only := range []string{"gaps", "missing-columns"} {
		cmd.MarkFlagsMutuallyExclusive("force", only)
	}
	return cmd
}

// A backfill holds the flags of the command backfill.
type backfill struct {
	from, to string
	gaps     bool // fetch only what has no record
	columns  bool // fetch only what lacks columns
	force    bool // fetch recorded partitions again too
	dry      bool // only show what would be fetched
}

// ask translates the flags into what the command asks of a job. A backfill ignores the schedule,
// because a person asks for it.
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

// request returns the request for a run over the range.
func (b backfill) request(names []string, d *wire.Deadline) wire.Request {
	r := newRequest("backfill", names, wire.Ask{}, d)
	r.Jobs = func(ctx context.Context, s *wire.Session) ([]jobs.Job, error) {
		a, err := b.ask(s, names[0])
		if err != nil {
			return nil, err
		}
		return s.Jobs(ctx, names, a)
	}
	return r
}

// orchestratorRange returns the days that an orchestrator asks for in the environment. asked is
// false when the orchestrator asks for none, and from and to are empty then.
func orchestratorRange(p *wire.Program) (from, to string, asked bool, err error) {
	pipes, err := run.OpenDagster(p.LookupEnv, nil, nil)
	if err != nil {
		return "", "", false, err
	}
	return pipes.Range()
}

// newRequest returns the request for one run of the named jobs, or of all.
func newRequest(trigger string, names []string, a wire.Ask, d *wire.Deadline) wire.Request {
	r := wire.Request{Trigger: trigger, Named: len(names) > 0}
	if d != nil {
		r.Stop = d.Stop()
	}
	r.Jobs = func(ctx context.Context, s *wire.Session) ([]jobs.Job, error) { return s.Jobs(ctx, names, a) }
	return r
}

// runJobs opens everything, does one run in the foreground and returns its exit code as an error.
func runJobs(cmd *cobra.Command, p *wire.Program, r wire.Request) (err error) {
	result, err := run.OpenResult(p, cmd.OutOrStdout())
	if err != nil {
		return err
	}
	l := newListeners(cmd.Context(), p, p.Logger(cmd.ErrOrStderr()))
	defer func() {
		if code := l.closed(cmd.Context(), text.ExitCode(err), err); err == nil && code != jobs.ExitDone {
			err = text.SilentExit(code)
		}
	}()
	out := cmd.OutOrStdout()
	if result.Alone() {
		out = cmd.ErrOrStderr()
	}
	if result != nil {
		l.result = result
	}
	if l.dagster, err = run.ListenForDagster(p.LookupEnv, cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
		return err
	}
	ctx, sent, err := run.ObserveOnce(cmd.Context(), p, p.Logger(cmd.ErrOrStderr()))
	if err != nil {
		return err
	}
	defer sent.Close(ctx)
	l.display = newDisplay(p, out, cmd.ErrOrStderr())
	l.log = l.display.log
	e, err := p.Open(ctx, l.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	gauges := e.Session("") // reads the ledger for the gauges of telemetry
	defer func() { err = errors.Join(err, gauges.Close()) }()
	if err := run.ObserveLedger(sent, gauges); err != nil {
		return text.WithExitCode(err)
	}
	defer sent.Close(ctx) // this runs while the ledger is open, so that its gauges are sent too
	code, err := once(ctx, e, r, l)
	if err != nil {
		return text.WithExitCode(err)
	}
	if code != jobs.ExitDone {
		return text.SilentExit(code)
	}
	return nil
}

// runScheduled does one run of the jobs that are due by their schedules, with an engine that stays
// open. It writes lines instead of bars, because nobody sits at a terminal.
func runScheduled(ctx context.Context, cmd *cobra.Command, e *wire.Engine, names []string,
	over func(job string, code int)) (code int, err error) {
	out, lines := cmd.OutOrStdout(), io.Writer(&stampedWriter{to: cmd.ErrOrStderr()})
	if !e.JSON() {
		out = &stampedWriter{to: out}
	}
	r := wire.Request{
		Trigger: "schedule", Named: true,
		Jobs: func(ctx context.Context, s *wire.Session) ([]jobs.Job, error) { return s.JobsApart(ctx, names) },
		Over: func(res ledger.Result) { over(res.Job, jobs.ExitCode([]ledger.Result{res}, res.Stopped, true)) },
	}
	l := newListeners(ctx, e.Program, e.Log)
	l.display = newDisplay(e.Program, out, lines)
	code, err = once(ctx, e, r, l)
	return l.closed(ctx, cmp.Or(code, text.ExitCode(err)), err), err
}
