package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/see"
	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// check makes the command check.
func (g *group) check() *cobra.Command {
	return &cobra.Command{
		Use:   "check [file|url...]",
		Short: "Read files as push would, and send nothing",
		Long: `Read files as push would, and say what would be sent and its sum, what wouldn't
be, what the files were read as, what the first records are, why rows would be
refused, and how much disk a push needs. Nothing is sent or recorded. Without
names, it reads the files of the job's source that push would read. The exit
code is 3 when rows would be refused, a file can't be read, or push would be
refused.`,
		RunE: func(cmd *cobra.Command, names []string) error {
			return g.on(cmd, wire.PushAsk{Now: true, Files: names}, func(ctx context.Context, _ *wire.Session,
				c config.Job, k wire.Pusher) error {
				due, err := k.Due(ctx, time.Now())
				if err != nil {
					return err
				}
				out, wrong := cmd.OutOrStdout(), false
				if len(due) == 0 {
					fmt.Fprintf(out, "%s: no file is due\n", c.Name)
				}
				if err := k.MayPush(ctx, due, time.Now()); err != nil {
					wrong = true
					text.Labeled(out, "error", text.Fold(err.Error(), 66))
				}
				for _, p := range due {
					checked, err := k.Check(ctx, p)
					if ctx.Err() != nil || err != nil && checked.Rows == 0 && jobs.Denied(err) {
						return err
					}
					wrong = g.writeCheck(out, c, p.Name, checked, err) || wrong
				}
				if wrong {
					return text.SilentExit(jobs.ExitSome)
				}
				return nil
			})
		},
	}
}

// writeCheck writes what pushing a file would do, and tells whether anything is wrong with it.
func (g *group) writeCheck(w io.Writer, c config.Job, name string, checked files.Checked, err error) (wrong bool) {
	r, problems := checked.Report, checked.Problems
	fmt.Fprintln(w, terminal.Line(name))
	read := func() {
		if checked.Read.Kind != "" {
			text.Labeled(w, "read as", readAs(c, checked))
		}
	}
	if err != nil && !errors.Is(err, outbox.ErrTooMany) {
		read()
		text.Labeled(w, "error", text.Fold(err.Error(), 66))
		return true
	}
	g.writeDispositions(w, checked)
	if !r.Quiet.IsZero() {
		text.Labeled(w, "waiting", "it may still be growing; a push without its name takes it "+see.DueAt(r.Quiet))
	}
	text.Labeled(w, "rows", text.Count(r.Rows))
	read()
	writeRecords(w, checked)
	text.Labeled(w, "disk", fmt.Sprintf("%s while it is pushed; %s read of what was pushed before", text.Bytes(r.Spool),
		text.Bytes(r.Index)))
	warnings := slices.DeleteFunc(slices.Clone(problems), func(p files.Problem) bool { return !p.Sent })
	if problems = slices.DeleteFunc(problems, func(p files.Problem) bool { return p.Sent }); len(problems) > 0 {
		writeProblems(w, problems)
	}
	for _, p := range warnings {
		text.Labeled(w, "look at", text.Fold(fmt.Sprintf("%s, the first is %s: %s", text.Plural(int(p.Rows), "row"),
			text.Count(p.First), p.Reason), 66))
	}
	if err != nil {
		text.Labeled(w, "error", text.Fold(err.Error(), 66))
	}
	return err != nil || r.Refused+r.Conflicts > 0
}

// writeProblems writes why rows would be refused: as a table, or as a list when the table would be
// wider than 80 columns.
func writeProblems(w io.Writer, problems []files.Problem) {
	g := text.Grid{Heads: []string{"  rows", "first", "field", "reason"}, Right: []bool{true, true, false, false}}
	for _, p := range problems {
		g.Rows = append(g.Rows, []string{"  " + text.Count(p.Rows), text.Count(p.First), p.Field, p.Reason})
	}
	var b strings.Builder
	g.Write(&b)
	for line := range strings.Lines(b.String()) {
		if len(line) <= 81 {
			continue
		}
		for _, p := range problems {
			fmt.Fprintf(w, "    %s, the first is %s\n", text.Plural(int(p.Rows), "row"), text.Count(p.First))
			fmt.Fprintln(w, "      "+strings.ReplaceAll(text.Fold(p.Error(), 74), "\n", "\n      "))
		}
		return
	}
	fmt.Fprint(w, b.String())
}
