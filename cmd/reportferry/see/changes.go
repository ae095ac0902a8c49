package see

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/civil"
	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
)

// Changes makes the command changes.
func Changes(p *wire.Program) *cobra.Command {
	var since string
	var form *wire.Output
	var limit int
	cmd := &cobra.Command{
		Use:   "changes [job...]",
		Short: "Show which numbers moved lately, the biggest first",
		Long: `Show which numbers changed in the last 24 hours, or since --since: for each
table, the periods for which a newer fetch brought different sums or rows, and
the reason for that fetch. No request is sent to the service.

The biggest changes come first. Their size is relative to the metric's average
over the table's periods: +31% means that a number changed by about a third of
an average day. So changes of big days come before changes of small days,
whatever the unit of the metric.

The column "day was" shows how final the old number was when it was fetched: a
number of a final day should not have changed. A period whose rows changed but
whose sums didn't is shown as rows changed by 0. For exact numbers use
history --metric, json or csv. Periods whose numbers have another meaning since
a rebaseline, such as another currency, are counted but not compared. Above the
changes stand answers that were held back or accepted, and differences that
remain.

For a job of kind events, it shows which slugs appeared, vanished or were
renamed. Renamed means that the same token of the same app has another slug.`,
		ValidArgsFunction: p.CompleteJobs,
		RunE: func(cmd *cobra.Command, names []string) error {
			write := wire.Form(form, map[string]func(movesByJob, io.Writer) error{
				wire.Text: func(m movesByJob, w io.Writer) error { return m.writeTable(w, limit) },
				wire.JSON: movesByJob.writeJSON, "csv": movesByJob.writeCSV,
			})
			begin, err := sinceOf(since, time.Now())
			if err != nil {
				return err
			}
			return p.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error {
				chosen, err := s.Choose(names)
				if err != nil {
					return err
				}
				m, failed := findMoves(ctx, s, chosen, begin)
				return errors.Join(failed, write(m, cmd.OutOrStdout()))
			})
		},
	}
	cmd.Flags().StringVar(&since, "since", "24h",
		"how long ago, such as `24h` or 7d, or a day such as 2026-01-31 or yesterday (UTC)")
	cmd.Flags().IntVar(&limit, "limit", 20, "how many changes of a table are shown; 0 for all; json and csv have all")
	form = p.AddOutput(cmd, "one object a change", wire.OneOf{tableMove{}, slugChange{}}, "csv")
	return cmd
}

// sinceOf returns the time that the value of --since means.
func sinceOf(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	if days, is := strings.CutSuffix(text, "d"); is {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n < 100_000 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := wire.ParseDay(text, civil.DateOf(now.UTC())); err == nil {
		return d.In(time.UTC), nil
	}
	return time.Time{}, fmt.Errorf("--since %q: want a time such as 24h or 7d, or %s", text, wire.DayWords)
}
