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
		Short: "Make pending again what may or may not have been taken",
		Long: fmt.Sprintf(`With on_unknown: park a record of which nobody knows whether it was taken is
left for a person. This makes such records pending again; the next run or push
sends them. A file is named as %s status shows it; without a name, all are
meant.`, g.kind),
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
