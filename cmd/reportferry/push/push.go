// Package push has the commands spend and sharing, which push files of records to the service.
// Without it, such files could be pushed by a schedule only, and nobody could read a file before it
// is sent or see what became of its records.
//
//	init                                    spend: the config of a job, made of a file
//	check ── push ── status ── requeue      both kinds; jobs/outbox keeps the state of each record
//	                 reconcile              spend: what was pushed beside what reports say
//	explain                                 sharing: which metric reaches which partner
//
// Before init writes a config, spendFile looks at the beginning of a partner's file of spend and
// says how it is written, and which of its columns are which fields of a record. Without it, an
// analyst would write a job's mapping by hand, cell by cell and refusal by refusal.
//
//	file ── openSpendFile ── spendFile: encoding, separator, decimals, names, first rows
//	                           └── columns ── spendField: its column, or why there is none
//
// A guess is for a person to look at: whatever isn't plain from the file itself is in
// spendFile.Notes. A run never guesses: it does what the config says that was made of the guess.
// The file is read here as a run reads it.
package push

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/jobs"
)

// A group makes the commands of one kind, with what differs between the kinds.
type group struct {
	*wire.Program
	kind     string // spend or sharing
	conflict string // completes "3 rows ...": what a conflict of this kind is
	job      string // --job
	showIDs  bool   // --show-ids of sharing push: log the devices whose records weren't taken
}

// command makes the kind's own command, with the subcommands that both kinds have.
func (g *group) command(short, long string) *cobra.Command {
	cmd := &cobra.Command{Use: g.kind, Short: short, Long: long, Args: cobra.NoArgs}
	cmd.PersistentFlags().StringVar(&g.job, "job", "",
		"`job` of the config; not needed when it has one of kind "+g.kind)
	cmd.AddCommand(g.push(), g.check(), g.status(), g.requeue())
	return cmd
}

// on opens the ledger, makes the job that --job names and calls do with it.
func (g *group) on(cmd *cobra.Command, a wire.PushAsk, do func(ctx context.Context, s *wire.Session, c config.Job,
	k wire.Pusher) error) error {
	return g.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error {
		c, err := wire.ChooseJob(s.Config, g.kind, g.job)
		if err != nil {
			return err
		}
		if err := s.OpenSpool(); err != nil {
			return err
		}
		job, err := wire.PushJob(ctx, s, c, a)
		if err != nil {
			return err
		}
		return do(ctx, s, c, job.Kind.(wire.Pusher))
	})
}

// push makes the command push: a run of the job with the files that are named, or those that are
// due.
func (g *group) push() *cobra.Command {
	var deadline *wire.Deadline
	var first bool
	cmd := &cobra.Command{
		Use:   "push [file|url...]",
		Short: "Push files, or what is due of the job's source",
		Long: `Push the files that are named, or those of the job's source that are new, have
changed or weren't finished, whatever the schedule says. A file that was pushed
before is not pushed again. One of the source that changed in the last five
minutes, or the time that wait_until_quiet says (0: none), may still be growing:
it waits, the run says until when and ends with 0, and status doesn't count that
as a success. A file that is named waits for nothing.

A job without history, because it is new, was renamed or has lost its ledger,
refuses files that are older than a day (2) until first: true stands in the
config, or with --first. Files that another job finds, too, are refused when
both would send the same Cost IDs.

With on_unknown: park, records of which nobody knows whether they were taken are
left for a person. A push that leaves any ends with 3 and says how many.

` + text.ExitHelp(),
		RunE: func(cmd *cobra.Command, files []string) error {
			return g.Run(cmd, wire.Request{Trigger: "manual", Named: true, Stop: deadline.Stop(),
				Jobs: func(ctx context.Context, s *wire.Session) ([]jobs.Job, error) {
					c, err := wire.ChooseJob(s.Config, g.kind, g.job)
					if err != nil {
						return nil, err
					}
					job, err := wire.PushJob(ctx, s, c, wire.PushAsk{Now: true, Files: files, First: first,
						ShowIDs: g.showIDs})
					return []jobs.Job{job}, err
				}})
		},
	}
	cmd.Flags().BoolVar(&first, "first", false,
		"send files that are older than a day although nothing that the job has pushed is on record")
	deadline = g.AddRun(cmd)
	return cmd
}
