package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"cloud.google.com/go/civil"
	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/sinks"
)

func newGaps(f *flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "gaps [job...]",
		Short: "Show the periods that should be there by now and aren't, and why",
		Long: `Show the periods from a job's start to now that have no record in the ledger,
and why. Nothing is asked of the service. Those that can't be fetched any more,
such as days of an events job that are over, are told apart, and so are
partitions that lack columns.

The exit code is 3 when there is a gap that can be closed, and its schedule has
fired: by backfill <job> --gaps, or, of today's events, by run <job>.`,
		ValidArgsFunction: f.completeJobs,
		RunE: func(cmd *cobra.Command, names []string) (err error) {
			e, err := open(cmd.Context(), f, f.logger(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, e.Close()) }()
			chosen, err := e.choose(names)
			if err != nil {
				return err
			}
			past, err := e.ledger.Past(cmd.Context(), lastRuns)
			if err != nil {
				return coded(err)
			}
			var failed []error // of one job, which says nothing about the others
			open := 0
			for _, job := range chosen {
				if job.Sinks == nil {
					continue
				}
				in, err := e.inspect(cmd.Context(), job, past)
				switch {
				case err != nil:
				case asJSON || f.logFormat == "json":
					err = writeGapsJSON(cmd.OutOrStdout(), job, in)
				default:
					writeGaps(cmd.OutOrStdout(), job, in)
				}
				open += in.Missing()
				failed = append(failed, err)
			}
			if err := errors.Join(failed...); err != nil || open == 0 {
				return coded(err)
			}
			return &exitError{code: jobs.ExitSome}
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a job")
	return cmd
}

// lastRuns are the runs whose failures are looked through for reasons.
const lastRuns = 20

func writeGaps(w io.Writer, job config.Job, in jobs.Inspection) {
	if len(in.Gaps) == 0 {
		fmt.Fprintf(w, "%s: no gaps\n", job.Name)
	}
	if n := writeGapsOf(w, job.Name, "missing", in.Gaps, true); n > 0 && in.Missing() > 0 {
		how := "backfill " + job.Name + " --gaps"
		if job.Events != nil {
			how = "run " + job.Name
		}
		fmt.Fprintf(w, "  to fetch: %s\n", how)
	}
	writeGapsOf(w, job.Name, "can't be fetched any more", in.Gaps, false)
	if l := in.Rest.Lacking; l.Partitions > 0 {
		fmt.Fprintf(w, "%s: %s\n  %s\n", job.Name, lacking(l), mending(job.Name, l))
	}
}

// writeGapsOf writes the gaps that can be closed, or those that can't, and gives how many partitions they are.
func writeGapsOf(w io.Writer, job, what string, gaps []jobs.Gap, closable bool) (n int) {
	gaps = slices.DeleteFunc(slices.Clone(gaps), func(g jobs.Gap) bool { return g.Closable != closable })
	for _, g := range gaps {
		n += g.Partitions
	}
	if n > 0 {
		fmt.Fprintf(w, "%s: %s %s\n", job, plural(n, "partition"), what)
	}
	for _, g := range gaps {
		fmt.Fprintf(w, "  %-24s  %4d  %s", rangeOf(g.Partition, g.Through), g.Partitions, g.Reason)
		if g.Run != "" {
			fmt.Fprintf(w, " in run %s", g.Run)
		}
		fmt.Fprintln(w)
		if g.Error != "" {
			fmt.Fprintf(w, "    error: %s\n", firstLine(g.Error))
		}
	}
	return n
}

func writeGapsJSON(w io.Writer, job config.Job, in jobs.Inspection) error {
	return json.NewEncoder(w).Encode(struct {
		Job     string       `json:"job"`
		Gaps    []jobs.Gap   `json:"gaps"`
		Lacking jobs.Lacking `json:"lacking,omitzero"`
	}{job.Name, append([]jobs.Gap{}, in.Gaps...), in.Rest.Lacking})
}

// rangeOf names a row of partitions.
func rangeOf(first, last civil.Date) string {
	switch first {
	case sinks.Whole:
		return "all"
	case last:
		return first.String()
	}
	return first.String() + ".." + last.String()
}
