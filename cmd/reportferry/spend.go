package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/spend"
)

// spendFlags are those of every command on spend.
type spendFlags struct {
	*flags
	job string
}

func newSpend(f *flags) *cobra.Command {
	s := &spendFlags{flags: f}
	cmd := &cobra.Command{
		Use:   "spend",
		Short: "Push files of ad spend, and see what became of them",
		Long: `Push files of ad spend to the service, record by record. What became of each
record is in the ledger: no record is sent twice but those whose answer was
lost, and none of a file that was stopped half way is left out.`,
		Args: cobra.NoArgs,
	}
	cmd.PersistentFlags().StringVar(&s.job, "job", "", "`job` of the config; not needed when it has one of kind spend")
	cmd.AddCommand(s.push(), s.check(), s.status(), s.reconcile(), s.requeue())
	return cmd
}

// on opens what a command needs, and calls do with the chosen job.
func (s *spendFlags) on(cmd *cobra.Command, a ask, do func(ctx context.Context, e *engine, c config.Job, k *spend.Kind) error) (err error) {
	ctx := cmd.Context()
	e, err := open(ctx, s.flags, s.logger(cmd.ErrOrStderr()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	c, err := chooseJob(e.config, "spend", s.job)
	if err != nil {
		return err
	}
	e.ask = a
	if err := e.openSpool(); err != nil {
		return coded(err)
	}
	k, err := spendKind(ctx, e, c)
	if err != nil {
		return coded(err)
	}
	return coded(do(ctx, e, c, k))
}

func (s *spendFlags) push() *cobra.Command {
	var deadline deadlineFlag
	cmd := &cobra.Command{
		Use:   "push [file|url...]",
		Short: "Push files, or what is due of the job's source",
		Long: `Push the files that are named, or those of the job's source that are new, have
changed or weren't finished, whatever the schedule says. A file that was pushed
before is not pushed again.

` + exitCodes,
		RunE: func(cmd *cobra.Command, files []string) error {
			c, err := config.Load(s.config)
			if err != nil {
				return &exitError{jobs.ExitUsage, err}
			}
			job, err := chooseJob(c, "spend", s.job)
			if err != nil {
				return err
			}
			return runJobs(cmd, s.flags, ask{now: true, files: files, stop: deadline.stop()}, "manual", []string{job.Name})
		},
	}
	deadline.add(cmd)
	return cmd
}

func (s *spendFlags) requeue() *cobra.Command {
	return &cobra.Command{
		Use:   "requeue [file...]",
		Short: "Send records again of which nobody knows whether they were taken",
		Long: `Make records pending again of which nobody knows whether they were taken:
on_unknown: park leaves them for a person. The next run or push sends them. A
file is named as spend status shows it; without a name, all are meant.`,
		RunE: func(cmd *cobra.Command, files []string) error {
			return s.on(cmd, ask{}, func(ctx context.Context, _ *engine, c config.Job, k *spend.Kind) error {
				if len(files) == 0 {
					files = []string{""}
				}
				var total int64
				for _, name := range files {
					n, err := k.Requeue(ctx, name)
					if err != nil {
						return err
					}
					total += n
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s to be sent again\n", c.Name, plural(int(total), "record"))
				return nil
			})
		},
	}
}

// writeSpendPlan says which files a run would push.
func (e *engine) writeSpendPlan(w io.Writer, job string, k *spend.Kind, units []jobs.Unit) {
	if len(units) == 0 {
		fmt.Fprintf(w, "%s: nothing is due\n", job)
		return
	}
	fmt.Fprintf(w, "%s: %s\n", job, plural(len(units), "file"))
	for _, u := range units {
		fmt.Fprintf(w, "  file %s\n", k.Describe(u))
	}
}

// ago is how long ago something was, for people.
func ago(now, at time.Time) string { return now.Sub(at).Round(time.Second).String() + " ago" }
