package emulate

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/emulator"
)

// newReadings makes the command emulator readings.
func newReadings() *cobra.Command {
	var rows bool
	cmd := &cobra.Command{
		Use:   "readings",
		Short: "List what --reading can choose",
		Long: `List what --reading can choose: where the service's interface document is
silent, and what a service may do there. The emulator does the first of each
topic unless it is told otherwise.

With --rows it lists rows of choices instead, each a --reading by itself. Every
two readings of different topics stand together in at least one of them: tests
of a client that run under each row meet every pair.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var b strings.Builder
			if rows {
				for n := range emulator.ReadingRows() {
					fmt.Fprintln(&b, strings.Join(emulator.ReadingRow(n), ","))
				}
				_, err := fmt.Fprint(cmd.OutOrStdout(), b.String())
				return text.WithExitCode(err)
			}
			for _, t := range emulator.ReadingTopics() {
				fmt.Fprintf(&b, "%s\n", t.Name)
				for i, r := range t.Readings {
					mark := " "
					if i == 0 {
						mark = "*"
					}
					means := strings.ReplaceAll(text.Fold(r.Means, 63), "\n", "\n"+strings.Repeat(" ", 17))
					fmt.Fprintf(&b, "  %s %-12s %s\n", mark, r.Name, means)
				}
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), b.String(), "\n* without --reading\n")
			return text.WithExitCode(err)
		},
	}
	cmd.Flags().BoolVar(&rows, "rows", false, "list rows of choices that have every pair of readings")
	return cmd
}
