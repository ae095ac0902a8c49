package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/human"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/wording"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/sinks"
)

// Gaps makes the command gaps.
func Gaps(p *wire.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "gaps [job...]",
		Short: "Show the periods that should be there by now and aren't, and why",
		Long: `Show the periods from a job's start to now that have no record in the ledger,
and why. Nothing is asked of the service. Those that can't be fetched any more,
such as days of an events job that are over, are told apart, and so are
partitions that lack columns. Below that: how many partitions are final.

The exit code is 3 when there is a gap that can be closed, and its schedule has
fired: by backfill <job> --gaps, or, of today's events, by run <job>.`,
		ValidArgsFunction: p.CompleteJobs,
		RunE: func(cmd *cobra.Command, names []string) error {
			return p.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error {
				chosen, err := s.Choose(names)
				if err != nil {
					return err
				}
				past, err := s.Past(ctx, lastRuns)
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

// lastRuns is how many run records are read for the reasons of gaps.
const lastRuns = 20

// showGaps writes the gaps of each job that has partitions. The error ends the command with 3 when a gap can be closed.
func showGaps(ctx context.Context, w io.Writer, s *wire.Session, chosen []config.Job, past ledger.Past, asJSON bool) error {
	var failed []error // a job that can't be inspected doesn't hide the others
	open := 0
	for _, job := range chosen {
		if job.Sinks == nil {
			continue
		}
		in, _, err := s.Inspect(ctx, job, past)
		switch {
		case err != nil:
		case asJSON:
			err = writeGapsJSON(w, job, in)
		default:
			writeGaps(w, job, in)
		}
		open += in.Missing() + in.Standing.Awaiting
		failed = append(failed, err)
	}
	if err := errors.Join(failed...); err != nil || open == 0 {
		return err
	}
	return exit.Silent(jobs.ExitSome)
}

// writeGaps writes the gaps of one job and the command that closes them.
func writeGaps(w io.Writer, job config.Job, in refresh.Inspection) {
	if len(in.Gaps) == 0 {
		fmt.Fprintf(w, "%s: no gaps\n", job.Name)
	}
	if n := writeGapsOf(w, job.Name, "missing", in.Gaps, true); n > 0 && in.Missing() > 0 {
		fmt.Fprintf(w, "  to fetch: %s\n", wording.Closing(job.Name, job.Kind))
	}
	writeGapsOf(w, job.Name, "can't be fetched any more", in.Gaps, false)
	if l := in.Rest.Lacking; l.Partitions > 0 {
		fmt.Fprintf(w, "%s: %s\n  %s\n", job.Name, wording.Lacking(l), wording.Mending(job.Name, l))
	}
	writeStanding(w, in.Standing)
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

// writeGapsOf writes the gaps that can be closed, or else those that can't, and returns how many partitions they are.
func writeGapsOf(w io.Writer, job, what string, gaps []refresh.Gap, closable bool) (n int) {
	gaps = slices.DeleteFunc(slices.Clone(gaps), func(g refresh.Gap) bool { return g.Closable != closable })
	for _, g := range gaps {
		n += g.Partitions
	}
	if n > 0 {
		fmt.Fprintf(w, "%s: %s %s\n", job, human.Plural(n, "partition"), what)
	}
	for _, g := range gaps {
		fmt.Fprintf(w, "  %-24s  %4d  %s", human.Range(g.Partition, g.Through), g.Partitions, g.Reason)
		if g.Run != "" {
			fmt.Fprintf(w, " in run %s", g.Run)
		}
		fmt.Fprintln(w)
		if g.Error != "" {
			fmt.Fprintf(w, "    error: %s\n", human.FirstLine(g.Error))
		}
	}
	return n
}

// writeGapsJSON writes the gaps of one job as a JSON object on one line.
func writeGapsJSON(w io.Writer, job config.Job, in refresh.Inspection) error {
	return json.NewEncoder(w).Encode(struct {
		Job     string         `json:"job"`
		Gaps    []refresh.Gap  `json:"gaps"`
		Lacking ledger.Lacking `json:"lacking,omitzero"`

		Standing refresh.Standing `json:"finality"`
	}{job.Name, append([]refresh.Gap{}, in.Gaps...), in.Rest.Lacking, in.Standing})
}
