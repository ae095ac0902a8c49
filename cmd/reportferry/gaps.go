package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"cloud.google.com/go/civil"
	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/sinks"
)

func newGaps(f *flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "gaps [job...]",
		Short: "Show the periods that should be there by now and aren't, and why",
		Long: `Show the periods from a job's start to now that have no record in the ledger,
and why. Nothing is asked of the service. To fetch them: backfill <job> --gaps.`,
		ValidArgsFunction: f.completeJobs,
		RunE: func(cmd *cobra.Command, names []string) (err error) {
			e, err := open(cmd.Context(), f, f.logger(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, e.Close()) }()
			list, err := e.jobs(cmd.Context(), names)
			if err != nil {
				return coded(err)
			}
			runs, err := e.ledger.Runs(cmd.Context(), lastRuns)
			if err != nil {
				return coded(err)
			}
			var failed []error // of one job, which says nothing about the others
			for _, job := range list {
				if job.Inspect == nil {
					continue
				}
				in, err := job.Inspect(cmd.Context(), time.Now(), runs)
				switch {
				case err != nil:
				case asJSON || f.logFormat == "json":
					err = writeGapsJSON(cmd.OutOrStdout(), job, in.Gaps)
				default:
					writeGaps(cmd.OutOrStdout(), job, in.Gaps)
				}
				failed = append(failed, err)
			}
			return coded(errors.Join(failed...))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a job")
	return cmd
}

// lastRuns are the runs whose failures are looked through for reasons.
const lastRuns = 20

func writeGaps(w io.Writer, job jobs.Job, gaps []jobs.Gap) {
	if len(gaps) == 0 {
		fmt.Fprintf(w, "%s: no gaps\n", job.Name)
		return
	}
	n := 0
	for _, g := range gaps {
		n += g.Partitions
	}
	fmt.Fprintf(w, "%s: %s missing\n", job.Name, plural(n, "partition"))
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
}

func writeGapsJSON(w io.Writer, job jobs.Job, gaps []jobs.Gap) error {
	return json.NewEncoder(w).Encode(struct {
		Job  string     `json:"job"`
		Gaps []jobs.Gap `json:"gaps"`
	}{job.Name, append([]jobs.Gap{}, gaps...)})
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
