package run

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"cloud.google.com/go/civil"
	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs/report"
)

// Diff makes the command diff.
func Diff(p *wire.Program) *cobra.Command {
	var against string
	var form *wire.Output
	var by []string
	var limit int
	cmd := &cobra.Command{
		Use: "diff <job> <day>",
		Example: `  reportferry diff campaigns_daily 2026-03-04
  reportferry diff campaigns_daily 2026-03-04 --by network --against 2026-03-05`,
		Short: "Show which rows of a period appeared, vanished and changed",
		Long: `Show which rows of a period appeared, vanished and changed between what it says
now and what it said before, by the raw answers that were kept. Nothing is asked
of the service. The day is any of the period: a date, or yesterday or today in
the zone of the job's report.

Rows are told apart by all dimensions of the job. With --by they are added up by
fewer of them; metrics that don't add up are then left out. Numbers are exact,
as the service wrote them.`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: p.CompleteJobDay,
		RunE: func(cmd *cobra.Command, args []string) error {
			write := wire.Form(form, diffFormats)
			return p.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error {
				job, err := s.ChooseOne(args[0])
				if err != nil {
					return err
				}
				c, err := contentsToCompare(args[1], against, wire.Today(job))
				if err != nil {
					return text.UsageError(err)
				}
				c.By = by
				_, kind, err := openReport(ctx, s, args[0], wire.Ask{})
				if err != nil {
					return err
				}
				d, err := kind.Diff(ctx, time.Now(), c)
				if err != nil {
					return err
				}
				return write(jobDiff{d, args[0], limit}, cmd.OutOrStdout())
			})
		},
	}
	cmd.Flags().StringSliceVar(&by, "by", nil, "`dimensions` by which rows are added up, such as network,campaign")
	cmd.Flags().StringVar(&against, "against", "",
		"the earlier content: its `number` in history, or the date at whose end it held; default: the one before")
	cmd.Flags().IntVar(&limit, "limit", 50, "how many rows the table shows; 0 for all; json and csv have all")
	form = p.AddOutput(cmd, "one object a row", diffRow{}, "csv")
	return cmd
}

// diffFormats maps each value of --output to the method that writes it.
var diffFormats = map[string]func(jobDiff, io.Writer) error{
	wire.Text: jobDiff.writeTable,
	wire.JSON: jobDiff.writeJSON,
	// Escapes would change the data.
	"csv": func(s jobDiff, w io.Writer) error { return s.writeCSV(terminal.Data(w)) },
}

// contentsToCompare reads which contents the arguments name: day is the period, and against is the
// value of --against.
func contentsToCompare(day, against string, today civil.Date) (c report.Comparing, err error) {
	if c.Partition, err = wire.ParseDay(day, today); err != nil {
		return c, fmt.Errorf("day %q: %w", day, err)
	}
	if against == "" {
		return c, nil
	}
	if c.On, err = wire.ParseDay(against, today); err == nil {
		return c, nil
	}
	if c.Seq, err = strconv.Atoi(against); err != nil || c.Seq < 1 {
		return c, fmt.Errorf("--against %q: want a number from history, or %s", against, wire.DayWords)
	}
	return c, nil
}
