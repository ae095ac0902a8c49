package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/spend"
)

func (s *spendFlags) status() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what became of each file",
		Long: `Show what became of each file: how many records the service accepted, how many
were not taken (refused here, rejected by the service, or in conflict with what
was pushed before), and how many are pending or unknown.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.on(cmd, ask{}, func(ctx context.Context, _ *engine, c config.Job, k *spend.Kind) error {
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
				writeSpendStatus(cmd.OutOrStdout(), c.Name, files, time.Now())
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a file")
	return cmd
}

func writeSpendStatus(w io.Writer, job string, files []outbox.File, now time.Time) {
	if len(files) == 0 {
		fmt.Fprintf(w, "%s: nothing was pushed yet\n", job)
		return
	}
	for _, f := range files {
		state := "done " + ago(now, f.Ended)
		if f.Open() {
			state = "begun " + ago(now, f.Started) + " and not finished"
		}
		fmt.Fprintf(w, "%s: %s\n", f.Name, state)
		row(w, "rows", fmt.Sprintf("%s, accepted %s, duplicates %s", count(f.Rows), count(f.Accepted), count(f.Duplicates)))
		if n := f.Refused + f.Rejected + f.Conflicts; n > 0 {
			row(w, "not taken", fmt.Sprintf("%s: refused %s, rejected %s, conflicts %s", count(n), count(f.Refused), count(f.Rejected), count(f.Conflicts)))
		}
		if f.Pending > 0 {
			row(w, "pending", count(f.Pending))
		}
		if f.Unknown > 0 {
			row(w, "unknown", count(f.Unknown)+"; spend requeue has them sent again")
		}
		if f.Doubtful > 0 {
			row(w, "doubtful", count(f.Doubtful)+" may have been sent more than once")
		}
		if f.Rejects != "" {
			row(w, "rejects", f.Rejects)
		}
	}
}

// spendStatus is what status says of a job of spend. Its runs alone tell when it last looked for files and failed at
// nothing, and so many runs of other jobs may lie between that all those of maxAge are read.
func (e *engine) spendStatus(ctx context.Context, c config.Job, runs []jobs.RunRecord, maxAge time.Duration) (tableStatus, error) {
	now, success := time.Now(), jobs.SuccessOf(c.Name, runs)
	for n := len(runs); success == nil && n >= lastRuns && n == len(runs) && now.Sub(runs[n-1].Started) <= maxAge; {
		var err error
		n *= 4
		if runs, err = e.ledger.Runs(ctx, n); err != nil {
			return tableStatus{}, err
		}
		success = jobs.SuccessOf(c.Name, runs)
	}
	s := tableStatus{Job: c.Name, Table: c.Table, Kind: "spend", Fresh: &jobs.Freshness{Success: success}, Failed: failureOf(c.Name, runs)}
	switch {
	case maxAge == 0:
	case success == nil:
		s.Stale = fmt.Sprintf("no run of it that ended without a failure is recorded of the last %v", maxAge)
	case now.Sub(*success) > maxAge:
		s.Stale = fmt.Sprintf("the last success was %v ago", now.Sub(*success).Round(time.Minute))
	}
	return s, nil
}
