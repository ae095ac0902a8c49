package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
)

func (s *pushFlags) check() *cobra.Command {
	return &cobra.Command{
		Use:   "check [file|url...]",
		Short: "Read files as push would, and send nothing",
		Long: `Read files as push would, and say what it would do: which rows it would refuse,
and how much disk it needs. Nothing is sent or recorded. Without names, it reads
the files of the job's source that push would read. The exit code is 3 when rows
would be refused, or a file can't be read.`,
		RunE: func(cmd *cobra.Command, names []string) error {
			return s.on(cmd, ask{now: true, files: names}, func(ctx context.Context, _ *engine, c config.Job, k pusher) error {
				due, err := k.Due(ctx, time.Now())
				if err != nil {
					return err
				}
				out, wrong := cmd.OutOrStdout(), false
				if len(due) == 0 {
					fmt.Fprintf(out, "%s: no file is due\n", c.Name)
				}
				for _, p := range due {
					report, problems, err := k.Check(ctx, p)
					if ctx.Err() != nil || err != nil && report.Rows == 0 && jobs.Denied(err) {
						return err
					}
					wrong = s.writeCheck(out, p.Name, report, problems, err) || wrong
				}
				if wrong {
					return &exitError{code: jobs.ExitSome}
				}
				return nil
			})
		},
	}
}

// writeCheck writes what a file would come to, and tells whether something is wrong with it.
func (s *pushFlags) writeCheck(w io.Writer, name string, r outbox.Report, problems []files.Problem, err error) (wrong bool) {
	fmt.Fprintln(w, terminal.Line(name))
	if err != nil && !errors.Is(err, outbox.ErrTooMany) {
		row(w, "error", err.Error())
		return true
	}
	row(w, "rows", count(r.Rows))
	to := count(r.Pending + r.Unknown)
	if r.Same || r.Accepted > 0 {
		to += ", accepted before " + count(r.Accepted)
	}
	row(w, "to send", to)
	if r.Duplicates > 0 {
		row(w, "duplicates", count(r.Duplicates))
	}
	if r.Conflicts > 0 {
		row(w, "conflicts", count(r.Conflicts)+" "+s.conflict)
	}
	row(w, "disk", fmt.Sprintf("%s while it is pushed; %s read of what was pushed before", size(r.Spool), size(r.Index)))
	if len(problems) > 0 {
		row(w, "refused", count(r.Refused))
		writeProblems(w, problems)
	}
	if err != nil {
		row(w, "error", err.Error())
	}
	return err != nil || r.Refused+r.Conflicts > 0
}

// writeProblems writes why rows would be refused: as a table where a terminal has room for it.
func writeProblems(w io.Writer, problems []files.Problem) {
	g := grid{heads: []string{"  rows", "first", "field", "reason"}, right: []bool{true, true, false, false}}
	for _, p := range problems {
		g.rows = append(g.rows, []string{"  " + count(p.Rows), count(p.First), p.Field, p.Reason})
	}
	var b strings.Builder
	g.write(&b)
	for line := range strings.Lines(b.String()) {
		if len(line) <= 81 {
			continue
		}
		for _, p := range problems {
			fmt.Fprintf(w, "    %s, the first is %s\n", plural(int(p.Rows), "row"), count(p.First))
			fmt.Fprintln(w, "      "+strings.ReplaceAll(folded(p.Error(), 74), "\n", "\n      "))
		}
		return
	}
	fmt.Fprint(w, b.String())
}
