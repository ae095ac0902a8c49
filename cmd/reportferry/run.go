package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/civil"
	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/jobs"
)

func newRun(f *flags) *cobra.Command {
	var a ask
	cmd := &cobra.Command{
		Use:   "run [job...]",
		Short: "Do what is due, of all jobs or of those named",
		Long: `Do what is due. A partition is due when the job's schedule has fired since the
later of the partition's end and its last fetch, and it is missing, was last
fetched inside the lookback, or hasn't reached a sink that was added. When
nothing is due, nothing is requested.

` + exitCodes,
		RunE: func(cmd *cobra.Command, names []string) error {
			return runJobs(cmd, f, a, "manual", names)
		},
	}
	cmd.Flags().BoolVar(&a.now, "now", false, "ignore the schedule: what is missing or in the lookback is due")
	cmd.Flags().BoolVar(&a.force, "force", false, "ignore the ledger: fetch everything from start to now again")
	return cmd
}

func newBackfill(f *flags) *cobra.Command {
	var from, to string
	var force bool
	cmd := &cobra.Command{
		Use:   "backfill <job> --from 2026-01-01 --to 2026-03-31",
		Short: "Fetch the missing partitions of a range, both ends included",
		Long: `Fetch the partitions of a range that have no record, or were last fetched inside
the lookback; the schedule and the job's start don't matter. A backfill that was
stopped goes on where it was. Several at once share the work.

` + exitCodes,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			a := ask{now: true, force: force}
			var err error
			if a.from, err = civil.ParseDate(from); err != nil {
				return fmt.Errorf("--from %q: want a date such as 2026-01-31", from)
			}
			if a.through, err = civil.ParseDate(to); err != nil {
				return fmt.Errorf("--to %q: want a date such as 2026-01-31", to)
			}
			if a.through.Before(a.from) {
				return fmt.Errorf("--to %s lies before --from %s", to, from)
			}
			if tomorrow := civil.DateOf(time.Now().UTC()).AddDays(1); a.from.After(tomorrow) {
				return fmt.Errorf("--from %s lies in the future", from)
			}
			return runJobs(cmd, f, a, "backfill", names)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "first `day`; its whole period is fetched")
	cmd.Flags().StringVar(&to, "to", "", "last `day`; its whole period is fetched")
	cmd.Flags().BoolVar(&force, "force", false, "fetch recorded partitions again too")
	for _, required := range []string{"from", "to"} {
		if err := cmd.MarkFlagRequired(required); err != nil {
			panic(err) // the flags are defined above
		}
	}
	return cmd
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
	e.ask = a
	if err := e.openSpool(); err != nil {
		return coded(err)
	}
	list, err := e.jobs(ctx, names)
	if err != nil {
		return coded(err)
	}
	if _, err := e.token.Token(ctx); err != nil { // before anything is claimed or asked
		return coded(fmt.Errorf("service.token: %w", refused(err)))
	}
	record := jobs.RunRecord{ID: e.run, Trigger: trigger, Started: time.Now().UTC()}
	if err := e.ledger.SaveRun(ctx, record); err != nil {
		return coded(err)
	}
	runner := &jobs.Runner{
		Ledger: e.ledger, Run: e.run, Lease: e.config.Lease, Parallel: e.config.Service.InFlight,
		Log: show.log, Observe: show.progress,
	}
	record.Results = runner.RunJobs(ctx, list)
	record.Exit = jobs.ExitCode(record.Results, jobs.Stopped(ctx), len(names) > 0)
	if err := e.endRecord(ctx, &record); err != nil {
		show.log.Error("the run's record could not be written", "run", e.run, "status", err.Error())
		if record.Exit == jobs.ExitDone {
			record.Exit = jobs.ExitFailed
		}
	}
	show.summary(record)
	if record.Exit != jobs.ExitDone {
		return &exitError{code: record.Exit}
	}
	return nil
}

// endRecord writes how the run ended, also when it is being stopped.
func (e *engine) endRecord(ctx context.Context, r *jobs.RunRecord) error {
	ended := time.Now().UTC()
	r.Ended = &ended
	for _, res := range r.Results {
		for _, g := range grouped(res.Errs) {
			r.Errors = append(r.Errors, res.Job+": "+g)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	return e.ledger.SaveRun(ctx, *r)
}
