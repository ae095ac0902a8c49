package push

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/see/runs"
	"github.com/reportferry/reportferry/cmd/reportferry/text/human"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/internal/wording"
	"github.com/reportferry/reportferry/jobs/outbox"
)

// status makes the command status.
func (g *group) status() *cobra.Command {
	var form *wire.Output
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what became of each file",
		Long: `Show what became of each file: how many records the service accepted, how many
were not taken (refused here, rejected by the service, or in conflict with what
was pushed before), and how many are pending or unknown. A file that has changed
is shown as it is now, and as JSON once for each of its contents. A file that
was refused as a whole, because it can't be read, lacks a column or has too many
rows that aren't right, is there with the reason and what to do about it. The
next push reads it again.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.on(cmd, wire.PushAsk{}, func(ctx context.Context, _ *wire.Session, c config.Job,
				k wire.Pusher) error {
				read := k.Outbox().Files
				if form.JSON() {
					read = k.Outbox().Summed
				}
				files, err := read(ctx)
				if err != nil {
					return err
				}
				if form.JSON() {
					return human.JSONLines(cmd.OutOrStdout(), files)
				}
				g.writeStatus(cmd.OutOrStdout(), c.Name, files, time.Now())
				return nil
			})
		},
	}
	form = g.AddOutput(cmd, "one object a file", outbox.File{})
	return cmd
}

// writeStatus writes a few lines for each file: its state, then its records by what became of them.
func (g *group) writeStatus(w io.Writer, job string, files []outbox.File, now time.Time) {
	if len(files) == 0 {
		fmt.Fprintf(w, "%s: nothing was pushed yet\n", job)
		return
	}
	contents, accepted := map[string]int{}, map[string]int64{}
	for _, f := range files {
		contents[f.Name]++
		accepted[f.Name] += f.Accepted
	}
	for _, f := range outbox.Latest(files) {
		state := "done " + human.Ago(now, f.Ended)
		switch {
		case f.Error != "" && f.Begun():
			state = "begun " + human.Ago(now, f.Started) + " and stopped, the rest isn't sent"
		case f.Error != "":
			state = "refused " + human.Ago(now, f.Started) + ", nothing was sent"
		case f.Open():
			state = "begun " + human.Ago(now, f.Started) + " and not finished"
		}
		fmt.Fprintf(w, "%s: %s\n", terminal.Line(f.Name), state)
		if f.Error != "" {
			human.Row(w, "error", human.Fold(f.Error, 66))
			human.Row(w, "what to do", human.Fold(wording.FileMending(g.kind, f), 66))
		}
		if f.Error != "" && !f.Begun() && f.Rejects == "" {
			continue // not all of its rows were counted
		}
		human.Row(w, "rows", fmt.Sprintf("%s, accepted %s, duplicates %s", human.Count(f.Rows), human.Count(f.Accepted),
			human.Count(f.Duplicates)))
		if n := contents[f.Name] - 1; n > 0 {
			human.Row(w, "earlier", fmt.Sprintf("%s, accepted %s", human.Plural(n, "content"),
				human.Count(accepted[f.Name]-f.Accepted)))
		}
		if n := f.NotTaken(); n > 0 {
			human.Row(w, "not taken", human.Count(n)+": "+runs.NotTaken(f.Refused, f.Rejected, f.Partly, f.Conflicts))
		}
		for i, r := range f.Reasons {
			if i == mostReasons {
				human.Row(w, "", fmt.Sprintf("and %d other reasons; the rejects have them all", len(f.Reasons)-i))
				break
			}
			human.Row(w, "", human.Fold(terminal.Line(r.String()), 66))
		}
		if f.Skipped > 0 {
			human.Row(w, "skipped", human.Plural(int(f.Skipped), "row")+" of totals, notes or nothing")
		}
		if f.Pending > 0 {
			human.Row(w, "pending", human.Count(f.Pending))
		}
		if f.Unknown > 0 {
			human.Row(w, "unknown", human.Count(f.Unknown)+"; the next run sends them again, or with on_unknown: "+
				"park "+g.kind+" requeue does")
		}
		if f.Doubtful > 0 {
			human.Row(w, "doubtful", human.Count(f.Doubtful)+" may have been sent more than once")
		}
		if f.Rejects != "" {
			human.Row(w, "rejects", terminal.Line(f.Rejects))
		}
	}
}
