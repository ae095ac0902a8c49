package emulate

import (
	"encoding/csv"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/internal/emulator"
)

// newEngagements makes the command emulator engagements.
func newEngagements() *cobra.Command {
	var o emulator.Options
	var perDay int
	cmd := &cobra.Command{
		Use:   "engagements --csv",
		Short: "List clicks and impressions of the made-up account",
		Long: `List clicks and impressions of the made-up account, to make files of ad spend
from: cost_id, app, campaign, time (UTC). An emulator with the same --seed and
--apps knows them; one of another seed keeps spend for them pending.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if perDay < 1 {
				return exit.Usage(fmt.Errorf("--per-day %d: want 1 or more", perDay))
			}
			server, err := emulator.New(o)
			if err != nil {
				return exit.Usage(err)
			}
			return exit.Coded(errors.Join(writeEngagements(cmd, server, o.Days, perDay), server.Close()))
		},
	}
	accountFlags(cmd, &o)
	cmd.Flags().IntVar(&o.Days, "days", 7, "days to list, ending today; spend is taken for seven days")
	cmd.Flags().IntVar(&perDay, "per-day", 10, "engagements of each app and day, at most a million")
	cmd.Flags().Bool("csv", true, "print CSV, the only form there is")
	return cmd
}

// writeEngagements writes the engagements of the last days as CSV, as they are made up.
func writeEngagements(cmd *cobra.Command, s *emulator.Server, days, perDay int) error {
	w := csv.NewWriter(cmd.OutOrStdout())
	err := w.Write([]string{"cost_id", "app", "campaign", "time"})
	now := time.Now()
	for e := range s.Engagements(now.AddDate(0, 0, 1-days), now, perDay) {
		if err != nil || cmd.Context().Err() != nil {
			break
		}
		err = w.Write([]string{e.CostID, e.App, e.Campaign, e.Time.Format(time.RFC3339)})
	}
	w.Flush()
	return errors.Join(err, w.Error(), cmd.Context().Err())
}
