package push

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
)

// requeue makes the command requeue.
func (g *group) requeue() *cobra.Command {
	return &cobra.Command{
		Use:   "requeue [file...]",
		Short: "Send records again of which nobody knows whether they were taken",
		Long: fmt.Sprintf(`Make records pending again of which nobody knows whether they were taken:
on_unknown: park leaves them for a person. The next run or push sends them. A
file is named as %s status shows it; without a name, all are meant.`, g.kind),
		RunE: func(cmd *cobra.Command, files []string) error {
			return g.on(cmd, wire.PushAsk{}, func(ctx context.Context, _ *wire.Session, c config.Job,
				k wire.Pusher) error {
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
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s to be sent again\n", c.Name, text.Plural(int(total), "record"))
				return nil
			})
		},
	}
}
