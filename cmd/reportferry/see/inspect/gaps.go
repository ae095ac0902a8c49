package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/text/human"
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
	var form *wire.Output
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
				return showGaps(ctx, cmd.OutOrStdout(), s, chosen, past, form.JSON())
			})
		},
	}
	form = p.AddOutput(cmd, "one object a job", jobGaps{})
	return cmd
}

// showGaps writes the gaps of each job that has partitions. The error ends the command with exit
// code 3 when a gap can be closed, or something else is wrong.
func showGaps(ctx context.Context, w io.Writer, s *wire.Session, chosen []config.Job, past ledger.Past,
	asJSON bool) error {
	var failed []error // a job that can't be inspected doesn't hide the others
	open := false
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
			writeGaps(w, s.Again(), job, in)
		}
		open = open || in.Missing() > 0 || status.AnyWrong(in.Problems)
		failed = append(failed, err)
	}
	if err := errors.Join(failed...); err != nil || !open {
		return err
	}
	return exit.Silent(jobs.ExitSome)
}

// writeGaps writes what one job lacks, and what else is wrong with its table.
func writeGaps(w io.Writer, again string, job config.Job, in refresh.Inspection) {
	head := job.Name + ": no gaps"
	if len(in.Gaps) > 0 || len(in.Problems) > 0 {
		head = job.Name
	}
	fmt.Fprintln(w, head)
	human.Problems(w, "  ", again, in.Problems, 0)
	writeWaiting(w, in.Gaps)
	writeCounts(w, in.Counts)
}

// writeWaiting names the gaps that the schedule will close.
func writeWaiting(w io.Writer, gaps []refresh.Gap) {
	for _, g := range gaps {
		if g.Closable && g.Reason == refresh.NotDueYet {
			fmt.Fprintf(w, "  %s not due yet\n    %s\n", human.Plural(g.Partitions, "partition"),
				human.Range(g.Partition, g.Through))
		}
	}
}

// writeCounts writes how many partitions are final, and how they compare with the service's totals.
// Nothing is said of a table without partitions, nor of totals when none were compared yet.
func writeCounts(w io.Writer, c refresh.Counts) {
	final := "final"
	if c.Through != nil && *c.Through != sinks.Whole {
		final = fmt.Sprintf("final (all through %s)", c.Through)
	}
	writeLine(w, count{c.Final, final}, count{c.Restating, "restating"}, count{c.Partial, "partial"},
		count{c.Doubtful, "in doubt"})
	writeLine(w, count{c.Staying, "restating ones won't be fetched when they could be final: see final_after"})
	if c.Reconciled+c.Unreconciled > 0 {
		writeLine(w, count{c.Reconciled, "reconciled"}, count{c.Unreconciled, "unreconciled"},
			count{c.Unchecked, "unchecked"})
	}
}

// A count is a number, and what it counts.
type count struct {
	n    int
	what string
}

// writeLine writes the counts that aren't 0 in one line, if there are any.
func writeLine(w io.Writer, counts ...count) {
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

// jobGaps are the gaps of a job as JSON.
type jobGaps struct {
	Job     string         `json:"job"`
	Gaps    []refresh.Gap  `json:"gaps"`
	Lacking ledger.Lacking `json:"lacking,omitzero"`

	Counts   refresh.Counts   `json:"finality"`
	Problems []ledger.Problem `json:"problems"`
}

// writeGapsJSON writes the gaps of one job as a JSON object on one line.
func writeGapsJSON(w io.Writer, job config.Job, in refresh.Inspection) error {
	return json.NewEncoder(w).Encode(jobGaps{job.Name, append([]refresh.Gap{}, in.Gaps...), in.Rest.Lacking, in.Counts,
		append([]ledger.Problem{}, in.Problems...)})
}
