package push

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/see"
	"github.com/reportferry/reportferry/cmd/reportferry/text"
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
					return text.JSONLines(cmd.OutOrStdout(), files)
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
		state := "done " + text.Ago(now, f.Ended)
		switch {
		case f.Error != "" && f.Begun():
			state = "begun " + text.Ago(now, f.Started) + " and stopped, the rest isn't sent"
		case f.Error != "":
			state = "refused " + text.Ago(now, f.Started) + ", nothing was sent"
		case f.Open():
			state = "begun " + text.Ago(now, f.Started) + " and not finished"
		}
		fmt.Fprintf(w, "%s: %s\n", terminal.Line(f.Name), state)
		if f.Error != "" {
			text.Labeled(w, "error", text.Fold(f.Error, 66))
			text.Labeled(w, "what to do", text.Fold(wording.FileMending(g.kind, f), 66))
		}
		if f.Error != "" && !f.Begun() && f.Rejects == "" {
			continue // not all of its rows were counted
		}
		rows := fmt.Sprintf("%s, accepted %s, duplicates %s", text.Count(f.Rows), text.Count(f.Accepted),
			text.Count(f.Duplicates))
		if f.Rows == 0 {
			rows = "none: the file has no records"
		}
		text.Labeled(w, "rows", rows)
		if n := contents[f.Name] - 1; n > 0 {
			text.Labeled(w, "earlier", fmt.Sprintf("%s, accepted %s", text.Plural(n, "content"),
				text.Count(accepted[f.Name]-f.Accepted)))
		}
		if n := f.NotTaken(); n > 0 {
			text.Labeled(w, "not taken", text.Count(n)+": "+see.NotTaken(f.Refused, f.Rejected, f.Partly, f.Conflicts))
		}
		for i, r := range f.Reasons {
			if i == mostReasons {
				text.Labeled(w, "", fmt.Sprintf("and %d other reasons; the rejects have them all", len(f.Reasons)-i))
				break
			}
			text.Labeled(w, "", text.Fold(terminal.Line(r.String()), 66))
		}
		if f.Skipped > 0 {
			text.Labeled(w, "skipped", text.Plural(int(f.Skipped), "row")+" of totals, notes or nothing")
		}
		if f.Pending > 0 {
			text.Labeled(w, "pending", text.Count(f.Pending))
		}
		if f.Unknown > 0 {
			text.Labeled(w, "unknown", text.Count(f.Unknown)+"; the next run sends them again, or with on_unknown: "+
				"park "+g.kind+" requeue does")
		}
		if f.Doubtful > 0 {
			text.Labeled(w, "doubtful", text.Count(f.Doubtful)+" may have been sent more than once")
		}
		if f.Rejects != "" {
			text.Labeled(w, "rejects", terminal.Line(f.Rejects))
		}
	}
}
