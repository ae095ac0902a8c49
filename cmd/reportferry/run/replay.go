package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/report"
)

// Replay makes the command replay.
func Replay(p *wire.Program) *cobra.Command {
	var from, to string
	var ask report.Replay
	var force bool
	var deadline *wire.Deadline
	cmd := &cobra.Command{
		Use: "replay <job>",
		Example: `  reportferry replay campaigns_daily
  reportferry replay campaigns_daily --from 2026-01-01 --to 2026-03-31
  reportferry replay campaigns_daily --from 2026-03-04 --to 2026-03-04 --seq 7`,
		Short: "Make partitions again of the raw answers that were kept",
		Long: `Make partitions again of the raw answers that their records name, without one
request to the service: after a bucket was lost, a sink was added, or types or
layout were changed. Sinks that hold the same content keep it.

Types, columns, sinks and layout are those of the config as it is now. A column
that the answers don't have becomes one of NULLs, which the next run fetches. A
config whose numbers mean something else, such as another currency, is refused.

A partition counts as fetched when its answer was, so the next run fetches again
what the service may have restated since. With --seq a day gets back what it
said before; history shows the numbers. A day is a date, days before today such
as -30d, yesterday or today, in the zone of the job's report.

A partition whose answer is missing or damaged is named and stays as it is. The
exit code is then 3, or 1 when nothing could be made.

` + text.ExitHelp(),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteJobs,
		RunE: func(cmd *cobra.Command, names []string) (err error) {
			if to != "" && from == "" {
				return errors.New("--to needs --from, the first day of the range")
			}
			if cmd.Flags().Changed("seq") && (ask.Seq < 1 || from == "" || to == "") {
				return errors.New("--seq: want a number from history, and --from and --to with the day")
			}
			return p.Run(cmd, wire.Request{Trigger: ledger.Replayed, Named: true, Offline: true, Stop: deadline.Stop(),
				Jobs: func(ctx context.Context, s *wire.Session) ([]jobs.Job, error) {
					job, kind, err := openReport(ctx, s, names[0], wire.Ask{Force: force})
					if err == nil && from != "" {
						ask.From, ask.Through, err = s.Range(names[0], from, to)
					}
					if err == nil {
						job.Kind = kind.Replay(ask)
					}
					return []jobs.Job{job}, err
				}})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "first `day`; its whole period is replayed")
	cmd.Flags().StringVar(&to, "to", "", "last `day`; its whole period is replayed; default: yesterday")
	cmd.Flags().IntVar(&ask.Seq, "seq", 0, "of one period, the content with this `number` in its history")
	cmd.Flags().BoolVar(&force, "force", false, "put everything, whatever the ledger says the sinks hold")
	deadline = p.AddRun(cmd)
	return cmd
}

// openReport makes the named job, which must be of kind report.
func openReport(ctx context.Context, s *wire.Session, name string, a wire.Ask) (jobs.Job, *report.Kind, error) {
	c, err := s.ChooseOne(name)
	if err != nil {
		return jobs.Job{}, nil, err
	}
	if c.Report == nil {
		return jobs.Job{}, nil, text.UsageError(fmt.Errorf("job %s is of kind %s; only those of kind report have raw "+
			"answers", name, c.Kind))
	}
	job, err := s.Job(ctx, c, a)
	if err != nil {
		return jobs.Job{}, nil, err
	}
	kind, ok := job.Kind.(*report.Kind)
	if !ok {
		return jobs.Job{}, nil, fmt.Errorf("job %s of kind report is a %T", name, job.Kind)
	}
	return job, kind, nil
}
