package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/civil"
	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// Accept makes the command accept.
func Accept(p *wire.Program) *cobra.Command {
	var days, reason string
	cmd := &cobra.Command{
		Use: "accept <job> --reason <text>",
		Example: `  reportferry accept campaigns_daily --reason "the app was sold"
  reportferry accept campaigns_daily --days 2026-11-01:2026-11-20 --reason "fraud was removed"`,
		Short: "Accept answers that are held back, and differences that stand",
		Long: `Accept answers that are held back, and differences that stand. An answer that
takes away more rows, or more of a metric, than guard allows isn't published:
the old rows stay, and status names the period. When that is right, because an
app was sold or fraud was removed, accept lets the next run publish what the
service answers then. Where the rows of a period always differ from the
service's totals in the same way, accept records that this is known. The reason
and the time are recorded, and history shows them.

The exit code is 3 when there is nothing to accept.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteJobs,
		RunE: func(cmd *cobra.Command, names []string) error {
			if strings.TrimSpace(reason) == "" {
				return text.UsageError(errors.New("--reason: want a text that says why the rows may go; it is " +
					"recorded"))
			}
			return p.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error {
				accepted, err := acceptHeld(ctx, s, names[0], days, &ledger.Acceptance{At: time.Now().UTC(),
					Reason: reason, Person: true})
				if n := len(accepted); n > 0 {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: %s accepted, %s\n",
						names[0], text.Plural(n, "partition"), text.DayRange(accepted[0], accepted[n-1]))
				} else if err == nil {
					err = &text.ExitError{Code: jobs.ExitSome,
						Err: fmt.Errorf("%s: nothing of these days is held back, or differs for good", names[0])}
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&days, "days", "", "only the periods that begin on these `days`: first:last, or one")
	cmd.Flags().StringVar(&reason, "reason", "", "why the rows may go, a `text`")
	return cmd
}

// acceptHeld records that what is held back may be published, or that a difference is known, and
// returns the partitions.
func acceptHeld(ctx context.Context, s *wire.Session, name, days string, why *ledger.Acceptance) (accepted []civil.Date,
	err error) {
	job, err := s.ChooseOne(name)
	if err != nil {
		return nil, err
	}
	if job.Report == nil {
		return nil, text.UsageError(fmt.Errorf("job %s is of kind %s; only those of kind report hold answers back",
			name, job.Kind))
	}
	var first, last civil.Date
	if days != "" {
		from, to, found := strings.Cut(days, ":")
		if !found {
			to = from
		}
		if first, last, err = s.Range(name, from, to); err != nil {
			return nil, err
		}
	}
	t, err := s.Ledger.Table(ctx, job.Table)
	if err != nil {
		return nil, err
	}
	for _, e := range t.Sorted() {
		if !e.AwaitsPerson() || days != "" && (e.Partition.Before(first) || e.Partition.After(last)) {
			continue
		}
		if e.Waits() {
			held := *e.HeldBack
			held.Accepted, e.HeldBack = why, &held
		} else {
			e.Accepted = why
		}
		if err := t.Commit(ctx, e); err != nil {
			return accepted, err
		}
		accepted = append(accepted, e.Partition)
	}
	return accepted, nil
}
