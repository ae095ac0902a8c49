package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/human"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
	"github.com/reportferry/reportferry/sinks"
)

// Gaps makes the command gaps.
func Gaps(p *wire.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "gaps [job...]",
		Short: "Show the periods that should be there by now and aren't, and why",
		Long: `Show the periods from a job's start to now that have no record in the ledger,
and why, and whatever else is wrong with a table, day by day, with the command
that ends it. Sinks are asked what they hold, and nothing is asked of the
service. Below that: how many partitions are final.

The exit code is 3 when there is a gap that can be closed, and its schedule has
fired, or when something else is wrong.`,
		ValidArgsFunction: p.CompleteJobs,
		RunE: func(cmd *cobra.Command, names []string) error {
			return p.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error {
				chosen, err := s.Choose(names)
				if err != nil {
					return err
				}
				past, err := s.Past(ctx, wire.LastRuns)
				if err != nil {
					return err
				}
				return showGaps(ctx, cmd.OutOrStdout(), s, chosen, past, asJSON || p.JSON())
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a job")
	return cmd
}

// showGaps writes the gaps of each job that has partitions. The error ends the command with 3 when a gap can be closed.
func showGaps(ctx context.Context, w io.Writer, s *wire.Session, chosen []config.Job, past ledger.Past, asJSON bool) error {
	var failed []error // a job that can't be inspected doesn't hide the others
	open := 0
	for _, job := range chosen {
		if job.Sinks == nil {
			continue
		}
		in, err := s.InspectSinks(ctx, job, past)
		switch {
		case err != nil:
		case asJSON:
			err = writeGapsJSON(w, job, in)
		default:
			writeGaps(w, job, in)
		}
		open += in.Missing() + status.Wrong(in.Problems)
		failed = append(failed, err)
	}
	if err := errors.Join(failed...); err != nil || open == 0 {
		return err
	}
	return exit.Silent(jobs.ExitSome)
}

// writeGaps writes what one job lacks, and what else is wrong with its table.
func writeGaps(w io.Writer, job config.Job, in refresh.Inspection) {
	head := job.Name + ": no gaps"
	if len(in.Gaps) > 0 || len(in.Problems) > 0 {
		head = job.Name
	}
	fmt.Fprintln(w, head)
	human.Problems(w, "  ", in.Problems, 0)
	writeWaiting(w, in.Gaps)
	writeStanding(w, in.Standing)
}

// writeWaiting names the gaps that the schedule will close.
func writeWaiting(w io.Writer, gaps []refresh.Gap) {
	for _, g := range gaps {
		if g.Closable && g.Reason == refresh.NotDueYet {
			fmt.Fprintf(w, "  %s not due yet\n    %s\n", human.Plural(g.Partitions, "partition"), human.Range(g.Partition, g.Through))
		}
	}
}

// writeStanding writes how many partitions are final, and how they compare with the service's totals. Nothing is said of a table
// without partitions, nor of totals when none were compared yet.
func writeStanding(w io.Writer, s refresh.Standing) {
	final := "final"
	if s.Through != nil && *s.Through != sinks.Whole {
		final = fmt.Sprintf("final (all through %s)", s.Through)
	}
	writeCounts(w, count{s.Final, final}, count{s.Restating, "restating"}, count{s.Partial, "partial"}, count{s.Doubtful, "in doubt"})
	writeCounts(w, count{s.Staying, "restating ones won't be fetched when they could be final: see final_after"})
	if s.Reconciled+s.Unreconciled > 0 {
		writeCounts(w, count{s.Reconciled, "reconciled"}, count{s.Unreconciled, "unreconciled"}, count{s.Unchecked, "unchecked"})
	}
	writeCounts(w, count{s.HeldBack, "held back: the newest answer takes good rows away, and isn't published"})
	writeCounts(w, count{s.Moved, "changed after being final"})
	writeCounts(w, count{s.Left, "moved after being final, and left as recorded (drift: warn)"})
}

type count struct {
	n    int
	what string
}

// writeCounts writes a line of those that aren't 0, if there are any.
func writeCounts(w io.Writer, counts ...count) {
	var parts []string
	for _, c := range counts {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if len(parts) > 0 {
		fmt.Fprintf(w, "  %s\n", strings.Join(parts, ", "))
	}
}

// writeGapsJSON writes the gaps of one job as a JSON object on one line.
func writeGapsJSON(w io.Writer, job config.Job, in refresh.Inspection) error {
	return json.NewEncoder(w).Encode(struct {
		Job     string         `json:"job"`
		Gaps    []refresh.Gap  `json:"gaps"`
		Lacking ledger.Lacking `json:"lacking,omitzero"`

		Standing refresh.Standing `json:"finality"`
		Problems []ledger.Problem `json:"problems"`
	}{job.Name, append([]refresh.Gap{}, in.Gaps...), in.Rest.Lacking, in.Standing, append([]ledger.Problem{}, in.Problems...)})
}
