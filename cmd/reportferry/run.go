package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/civil"
	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
)

func newRun(f *flags) *cobra.Command {
	var a ask
	var deadline deadlineFlag
	cmd := &cobra.Command{
		Use:   "run [job...]",
		Short: "Do what is due, of all jobs or of those named",
		Long: `Do what is due. A partition is due when the job's schedule has fired since the
later of the partition's end and its last fetch, and it is missing, was last
fetched inside the lookback or before a cohort metric was final, lacks a column
that was added, or hasn't reached a sink that was. When nothing is due, nothing
is requested. The last line says when something is left out.

` + exitCodes,
		ValidArgsFunction: f.completeJobs,
		RunE: func(cmd *cobra.Command, names []string) error {
			a.stop = deadline.stop()
			return runJobs(cmd, f, a, "manual", names)
		},
	}
	cmd.Flags().BoolVar(&a.now, "now", false, "ignore the schedule: what is missing or in the lookback is due")
	cmd.Flags().BoolVar(&a.force, "force", false, "ignore the ledger: fetch everything from start to now again")
	cmd.Flags().BoolVar(&a.rebaseline, "rebaseline", false, "after a change of what numbers mean (currency, filters, dimensions, ...): replace every partition, one by one")
	deadline.add(cmd)
	return cmd
}

func newBackfill(f *flags) *cobra.Command {
	var b backfill
	var deadline deadlineFlag
	cmd := &cobra.Command{
		Use: "backfill <job> --from 2026-01-01 --to 2026-03-31",
		Example: `  reportferry backfill campaigns_daily --from 2026-01-01 --to 2026-03-31
  reportferry backfill campaigns_daily --gaps
  reportferry backfill campaigns_daily --missing-columns`,
		Short: "Fetch the missing partitions of a range, both ends included",
		Long: `Fetch the partitions of a range that have no record, were last fetched inside
the lookback, or lack a column; the schedule and the job's start don't matter. A
backfill that was stopped goes on where it was. Several at once share the work.

With --gaps only what has no record is fetched, with --missing-columns only what
lacks columns that the job has by now; a range is not needed then.

` + exitCodes,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: f.completeJobs,
		RunE: func(cmd *cobra.Command, names []string) error {
			a, err := b.ask()
			if err != nil {
				return err
			}
			a.stop = deadline.stop()
			return runJobs(cmd, f, a, "backfill", names)
		},
	}
	cmd.Flags().StringVar(&b.from, "from", "", "first `day`; its whole period is fetched")
	cmd.Flags().StringVar(&b.to, "to", "", "last `day`; its whole period is fetched")
	cmd.Flags().BoolVar(&b.gaps, "gaps", false, "only what has no record")
	cmd.Flags().BoolVar(&b.columns, "missing-columns", false, "only what lacks columns that the job has by now")
	cmd.Flags().BoolVar(&b.force, "force", false, "fetch recorded partitions again too")
	deadline.add(cmd)
	cmd.MarkFlagsRequiredTogether("from", "to")
	cmd.MarkFlagsOneRequired("from", "gaps", "missing-columns")
	for _, only := range []string{"gaps", "missing-columns"} {
		cmd.MarkFlagsMutuallyExclusive("force", only)
	}
	return cmd
}

// backfill is what its flags say.
type backfill struct {
	from, to             string
	gaps, columns, force bool
}

func (b backfill) ask() (a ask, err error) {
	a = ask{now: true, force: b.force, newColumns: b.columns}
	if b.gaps {
		a.only = append(a.only, jobs.Missing, jobs.Interrupted)
	}
	if b.columns {
		a.only = append(a.only, jobs.NewColumns)
	}
	if b.from == "" {
		return a, nil
	}
	if a.from, err = civil.ParseDate(b.from); err != nil {
		return a, fmt.Errorf("--from %q: want a date such as 2026-01-31", b.from)
	}
	if a.through, err = civil.ParseDate(b.to); err != nil {
		return a, fmt.Errorf("--to %q: want a date such as 2026-01-31", b.to)
	}
	if a.through.Before(a.from) {
		return a, fmt.Errorf("--to %s lies before --from %s", b.to, b.from)
	}
	if tomorrow := civil.DateOf(time.Now().UTC()).AddDays(1); a.from.After(tomorrow) {
		return a, fmt.Errorf("--from %s lies in the future", b.from)
	}
	return a, nil
}

// runJobs runs the jobs, shows what happens, and keeps a record of the run in the ledger.
func runJobs(cmd *cobra.Command, f *flags, a ask, trigger string, names []string) (err error) {
	ctx := cmd.Context()
	show := newDisplay(f, cmd.OutOrStdout(), cmd.ErrOrStderr())
	e, err := open(ctx, f, show.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	exit, err := e.once(ctx, a, trigger, names, show)
	if err != nil {
		return coded(err)
	}
	if exit != jobs.ExitDone {
		return &exitError{code: exit}
	}
	return nil
}

// once is one run of the jobs that are named, or of all; its exit code is also in its record.
func (shared *engine) once(ctx context.Context, a ask, trigger string, names []string, show *display) (exit int, err error) {
	if !a.stop.IsZero() {
		var release context.CancelFunc
		ctx, release = context.WithCancel(ctx)
		defer release()
		defer time.AfterFunc(time.Until(a.stop), release).Stop()
	}
	defer func() {
		if err != nil && jobs.Stopped(ctx) && errors.Is(err, context.Canceled) {
			show.log.Info("interrupted before anything was begun")
			exit, err = jobs.ExitInterrupted, nil
		}
	}()
	a.progress = show.err
	e := shared.forRun(a)
	defer func() { err = errors.Join(err, e.Close()) }()
	if err := e.openSpool(); err != nil {
		return 0, err
	}
	list, err := e.jobs(ctx, names)
	if err != nil {
		return 0, err
	}
	show.expect(list)
	if _, err := e.token.Token(ctx); err != nil { // before anything is claimed or asked
		return 0, fmt.Errorf("service.token: %w", refused(err))
	}
	if err := e.checkClock(ctx); err != nil {
		return 0, err
	}
	plans := jobs.PlanJobs(ctx, list, time.Now())
	if err := e.quotas(list, plans); err != nil {
		return 0, err
	}
	e.task.begin(plans)
	record := jobs.RunRecord{ID: e.run, Trigger: trigger, Started: time.Now().UTC()}
	if err := e.ledger.SaveRun(ctx, record); err != nil {
		return 0, err
	}
	runner := &jobs.Runner{
		Ledger: e.ledger, Run: e.run, Lease: e.config.Lease, Parallel: e.client.InFlight(), Deadline: a.stop,
		Log: show.log, Observe: show.progress,
	}
	record.Results = runner.RunJobs(ctx, list, plans)
	record.Exit = jobs.ExitCode(record.Results, jobs.Stopped(ctx), len(names) > 0 && e.task.alone())
	if err := e.endRecord(ctx, &record); err != nil {
		show.log.Error("the run's record could not be written", "run", e.run, "status", err)
		if record.Exit == jobs.ExitDone {
			record.Exit = jobs.ExitFailed
		}
	}
	if err := e.audit(ctx, record); err != nil {
		show.log.Error("the audit tables could not be written", "run", e.run, "status", err)
		if record.Exit == jobs.ExitDone {
			record.Exit = jobs.ExitFailed
		}
	}
	show.summary(record)
	return record.Exit, nil
}

// endRecord writes how the run ended, also when it is being stopped.
func (e *engine) endRecord(ctx context.Context, r *jobs.RunRecord) error {
	ended := time.Now().UTC()
	r.Ended = &ended
	for _, res := range r.Results {
		for _, g := range grouped(res.Errs) {
			r.Errors = append(r.Errors, res.Job+": "+terminal.Text(g)) // who reads the ledger needs no such care
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	for _, res := range r.Results {
		if slices.ContainsFunc(res.Errs, func(err error) bool { return errors.Is(err, adjust.ErrClock) }) {
			return e.ledger.ForgetRun(ctx, r.ID) // its date is wrong, and the newest record is the one of the highest date
		}
	}
	return e.ledger.SaveRun(ctx, *r)
}

// checkClock compares this machine's clock with that of the ledger's store, and refuses to begin when they are far apart.
// The service's is looked at with each of its answers. A folder has no clock of its own, only the date of its last run.
func (e *engine) checkClock(ctx context.Context) error {
	theirs, known, err := e.ledger.Clock(ctx)
	if err != nil {
		return err
	}
	if known {
		warning, err := transport.CheckClock("the ledger's bucket", theirs, time.Now())
		if warning != "" {
			e.log.Warn(warning)
		}
		return err
	}
	last, ran, err := e.ledger.LastRun(ctx)
	if err != nil {
		return nil // said when the record is asked for
	}
	if now := time.Now(); ran && last.Started.Sub(now) > transport.ClockRefuses {
		e.log.Warn("the ledger's last run began at "+last.Started.UTC().Format(time.RFC3339)+", which is in the future by this machine's clock: "+
			"it is wrong now, or was then", "run", last.ID)
	}
	return nil
}
