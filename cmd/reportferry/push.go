package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// A pusher is a kind that sends files record by record.
type pusher interface {
	jobs.Kind
	Due(ctx context.Context, now time.Time) ([]files.Path, error)
	Check(ctx context.Context, p files.Path) (outbox.Report, []files.Problem, error)
	Outbox() *outbox.Outbox
}

// pushFlags are those of every command on a kind that pushes.
type pushFlags struct {
	*flags
	kind     string
	conflict string // what a conflict of a record is
	job      string
	showIDs  bool
}

// pushCommand is the command that those of a kind are below.
func (s *pushFlags) command(short, long string) *cobra.Command {
	cmd := &cobra.Command{Use: s.kind, Short: short, Long: long, Args: cobra.NoArgs}
	cmd.PersistentFlags().StringVar(&s.job, "job", "", "`job` of the config; not needed when it has one of kind "+s.kind)
	cmd.AddCommand(s.push(), s.check(), s.status(), s.requeue())
	return cmd
}

// on opens what a command needs, and calls do with the chosen job.
func (s *pushFlags) on(cmd *cobra.Command, a ask, do func(ctx context.Context, e *engine, c config.Job, k pusher) error) (err error) {
	ctx := cmd.Context()
	e, err := open(ctx, s.flags, s.logger(cmd.ErrOrStderr()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	c, err := chooseJob(e.config, s.kind, s.job)
	if err != nil {
		return err
	}
	e.ask = a
	if err := e.openSpool(); err != nil {
		return coded(err)
	}
	job, err := kinds[c.Kind](ctx, e, c)
	if err != nil {
		return coded(err)
	}
	return coded(do(ctx, e, c, job.Kind.(pusher)))
}

func (s *pushFlags) push() *cobra.Command {
	var deadline deadlineFlag
	cmd := &cobra.Command{
		Use:   "push [file|url...]",
		Short: "Push files, or what is due of the job's source",
		Long: `Push the files that are named, or those of the job's source that are new, have
changed or weren't finished, whatever the schedule says. A file that was pushed
before is not pushed again. One of the source that changed in the last five
minutes, or the time that wait_until_quiet says (0: none), may still be growing:
it waits, the run says until when and ends with 0, and status doesn't count that
as a success. A file that is named waits for nothing.

With on_unknown: park, records of which nobody knows whether they were taken are
left for a person. A push that leaves any ends with 3 and says how many.

` + exitCodes,
		RunE: func(cmd *cobra.Command, files []string) error {
			c, err := config.Load(s.config, os.LookupEnv)
			if err != nil {
				return &exitError{jobs.ExitUsage, err}
			}
			job, err := chooseJob(c, s.kind, s.job)
			if err != nil {
				return err
			}
			return runJobs(cmd, s.flags, ask{now: true, files: files, stop: deadline.stop(), showIDs: s.showIDs}, "manual", []string{job.Name})
		},
	}
	deadline.add(cmd)
	return cmd
}

func (s *pushFlags) requeue() *cobra.Command {
	return &cobra.Command{
		Use:   "requeue [file...]",
		Short: "Send records again of which nobody knows whether they were taken",
		Long: fmt.Sprintf(`Make records pending again of which nobody knows whether they were taken:
on_unknown: park leaves them for a person. The next run or push sends them. A
file is named as %s status shows it; without a name, all are meant.`, s.kind),
		RunE: func(cmd *cobra.Command, files []string) error {
			return s.on(cmd, ask{}, func(ctx context.Context, _ *engine, c config.Job, k pusher) error {
				if len(files) == 0 {
					files = []string{""}
				}
				var total int64
				for _, name := range files {
					n, err := k.Outbox().Requeue(ctx, name)
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

// writePushPlan says which files a run would push.
func writePushPlan(w io.Writer, job string, due []string) {
	fmt.Fprintf(w, "%s: %s\n", job, plural(len(due), "file"))
	for _, name := range due {
		fmt.Fprintf(w, "  file %s\n", terminal.Line(name))
	}
}

// ago is how long ago something was, for people.
func ago(now, at time.Time) string { return now.Sub(at).Round(time.Second).String() + " ago" }
