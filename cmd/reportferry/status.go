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
)

// A tableStatus is what the ledger says of one job's table.
type tableStatus struct {
	Job         string       `json:"job"`
	Table       string       `json:"table"`
	Partitions  int          `json:"partitions"`
	Empty       int          `json:"empty"`
	Interrupted int          `json:"interrupted"` // a put began, and how it ended isn't recorded
	Rows        int64        `json:"rows"`
	Oldest      *civil.Date  `json:"oldest,omitempty"`
	Newest      *civil.Date  `json:"newest,omitempty"`
	Fetched     *time.Time   `json:"fetched,omitempty"` // the last fetch
	Records     []jobs.Entry `json:"records,omitempty"`
}

func newStatus(f *flags) *cobra.Command {
	var asJSON, records bool
	cmd := &cobra.Command{
		Use:   "status [job...]",
		Short: "Show what the ledger holds: per table, and of the last run",
		RunE: func(cmd *cobra.Command, names []string) (err error) {
			ctx := cmd.Context()
			e, err := open(ctx, f, f.logger(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, e.Close()) }()
			chosen, err := e.choose(names)
			if err != nil {
				return err
			}
			var tables []tableStatus
			for _, c := range chosen {
				t, err := e.ledger.Table(ctx, c.Table)
				if err != nil {
					return coded(err)
				}
				tables = append(tables, statusOf(c.Name, t, records))
			}
			last, ran, err := e.ledger.LastRun(ctx)
			if err != nil {
				return coded(err)
			}
			if asJSON || f.logFormat == "json" {
				return writeStatusJSON(cmd.OutOrStdout(), tables, last, ran)
			}
			writeStatus(cmd.OutOrStdout(), tables, last, ran, time.Now())
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&records, "records", false, "with --json: every partition's record too")
	return cmd
}

func statusOf(job string, t *jobs.Table, records bool) tableStatus {
	s := tableStatus{Job: job, Table: t.Name()}
	for _, e := range t.Sorted() {
		s.Partitions++
		s.Rows += e.Rows
		switch e.State {
		case jobs.Empty, jobs.Cleared:
			s.Empty++
		case jobs.Publishing:
			s.Interrupted++
		}
		if s.Oldest == nil {
			s.Oldest = &e.Partition
		}
		s.Newest = &e.Partition
		if s.Fetched == nil || e.Fetched.After(*s.Fetched) {
			s.Fetched = &e.Fetched
		}
		if records {
			s.Records = append(s.Records, e)
		}
	}
	return s
}

func writeStatusJSON(w io.Writer, tables []tableStatus, last jobs.RunRecord, ran bool) error {
	out := struct {
		Tables  []tableStatus   `json:"tables"`
		LastRun *jobs.RunRecord `json:"last_run,omitempty"`
	}{Tables: tables}
	if ran {
		out.LastRun = &last
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func writeStatus(w io.Writer, tables []tableStatus, last jobs.RunRecord, ran bool, now time.Time) {
	for _, s := range tables {
		if s.Newest == nil {
			fmt.Fprintf(w, "%s: nothing recorded yet\n", s.Job)
			continue
		}
		fmt.Fprintf(w, "%s: %s to %s, %d partitions, %s rows\n", s.Job, s.Oldest, s.Newest, s.Partitions, count(s.Rows))
		fmt.Fprintf(w, "  last fetch %s ago", now.Sub(*s.Fetched).Round(time.Second))
		if s.Empty > 0 {
			fmt.Fprintf(w, ", %d empty", s.Empty)
		}
		if s.Interrupted > 0 {
			fmt.Fprintf(w, ", %d interrupted while being published", s.Interrupted)
		}
		fmt.Fprintln(w)
	}
	if !ran {
		return
	}
	fmt.Fprintf(w, "last run: %s (%s), ", last.ID, last.Trigger)
	if last.Ended == nil {
		fmt.Fprintf(w, "it goes on, or was killed\n")
		return
	}
	fmt.Fprintf(w, "exit code %d, %s ago\n", last.Exit, now.Sub(*last.Ended).Round(time.Second))
	for _, msg := range last.Errors {
		fmt.Fprintf(w, "  %s\n", msg)
	}
}
