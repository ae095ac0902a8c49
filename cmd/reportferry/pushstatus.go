package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs/outbox"
)

func (s *pushFlags) status() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what became of each file",
		Long: `Show what became of each file: how many records the service accepted, how many
were not taken (refused here, rejected by the service, or in conflict with what
was pushed before), and how many are pending or unknown.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.on(cmd, ask{}, func(ctx context.Context, _ *engine, c config.Job, k pusher) error {
				files, err := k.Outbox().Files(ctx)
				if err != nil {
					return err
				}
				if asJSON || s.logFormat == "json" {
					enc := json.NewEncoder(cmd.OutOrStdout())
					for _, f := range files {
						if err := enc.Encode(f); err != nil {
							return err
						}
					}
					return nil
				}
				s.writeStatus(cmd.OutOrStdout(), c.Name, files, time.Now())
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a file")
	return cmd
}

func (s *pushFlags) writeStatus(w io.Writer, job string, files []outbox.File, now time.Time) {
	if len(files) == 0 {
		fmt.Fprintf(w, "%s: nothing was pushed yet\n", job)
		return
	}
	for _, f := range files {
		state := "done " + ago(now, f.Ended)
		switch {
		case f.Error != "":
			state = "nothing of it was sent " + ago(now, f.Started)
		case f.Open():
			state = "begun " + ago(now, f.Started) + " and not finished"
		}
		fmt.Fprintf(w, "%s: %s\n", terminal.Line(f.Name), state)
		row(w, "rows", fmt.Sprintf("%s, accepted %s, duplicates %s", count(f.Rows), count(f.Accepted), count(f.Duplicates)))
		if n := f.Refused + f.Rejected + f.Conflicts; n > 0 {
			row(w, "not taken", fmt.Sprintf("%s: refused %s, rejected %s, conflicts %s", count(n), count(f.Refused), count(f.Rejected), count(f.Conflicts)))
		}
		if f.Error != "" {
			row(w, "error", f.Error)
		}
		if f.Pending > 0 {
			row(w, "pending", count(f.Pending))
		}
		if f.Unknown > 0 {
			row(w, "unknown", count(f.Unknown)+"; "+s.kind+" requeue has them sent again")
		}
		if f.Doubtful > 0 {
			row(w, "doubtful", count(f.Doubtful)+" may have been sent more than once")
		}
		if f.Rejects != "" {
			row(w, "rejects", terminal.Line(f.Rejects))
		}
	}
}
