package emulate

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
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
from: cost_id, app, campaign, time (UTC). An emulator with the same --seed,
--apps and --hostile-names knows them; another keeps spend for them pending.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if perDay < 1 {
				return text.UsageError(fmt.Errorf("--per-day %d: want 1 or more", perDay))
			}
			server, err := emulator.New(o)
			if err != nil {
				return text.UsageError(err)
			}
			now := time.Now()
			list := server.Engagements(now.AddDate(0, 0, 1-o.Days), now, perDay)
			return text.WithExitCode(errors.Join(emulator.WriteEngagements(cmd.Context(), cmd.OutOrStdout(), list),
				server.Close()))
		},
	}
	accountFlags(cmd, &o)
	cmd.Flags().IntVar(&o.Days, "days", 7, "days to list, ending today; spend is taken for seven days")
	cmd.Flags().IntVar(&perDay, "per-day", 10, "engagements of each app and day, at most a million")
	cmd.Flags().Bool("csv", true, "print CSV, the only form there is")
	return cmd
}
