// Package inspect has the commands that say how the tables are and change nothing of them: status,
// check and views. Without it, what is missing, stale or damaged would be known only when
// somebody misses it.
//
//	status  ledger + config + sinks     what is recorded, how old it is, what is missing or wrong
//	check   ledger + sinks [+ service]  whether what is recorded is there, and still true
//	views   config                      what dashboards read
package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/civil"
	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/see"
	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/refresh"
	"github.com/reportferry/reportferry/jobs/status"
)

// A tableStatus is what the ledger says of one job's table.
type tableStatus struct {
	Job         string             `json:"job"`
	Table       string             `json:"table"`
	Kind        string             `json:"kind,omitempty"` // set for a job without partitions
	Partitions  int                `json:"partitions"`
	Empty       int                `json:"empty"`
	Interrupted int                `json:"interrupted"` // partitions whose last put began, and has no recorded end
	Rows        int64              `json:"rows"`
	Oldest      *civil.Date        `json:"oldest,omitempty"`
	Newest      *civil.Date        `json:"newest,omitempty"`
	Pieces      []refresh.Piece    `json:"pieces,omitempty"`  // set when there are several
	Fetched     *time.Time         `json:"fetched,omitempty"` // the last fetch
	Fresh       *refresh.Freshness `json:"freshness,omitempty"`
	Missing     int                `json:"missing"`        // partitions of its range that a run would fetch
	Gaps        []refresh.Gap      `json:"gaps,omitempty"` // periods without a record, and why
	Rest        ledger.Rest        `json:"rest,omitzero"`  // what a run would leave undone
	Counts      *refresh.Counts    `json:"finality,omitempty"`
	Problems    []ledger.Problem   `json:"problems,omitempty"`
	Unsure      string             `json:"unsure,omitempty"` // why Missing, Rest, Counts and Problems aren't known
	Stale       string             `json:"stale,omitempty"`  // why it is older than --max-age
	detailed    bool               // the command named after the kind has a subcommand status
	Records     []ledger.Record    `json:"records,omitempty"`
	calendar    []refresh.Entry    // the table's partitions, for --plot
}

// An allStatus is what the command status prints as JSON.
type allStatus struct {
	Ledger  string        `json:"ledger"`
	Tables  []tableStatus `json:"tables"`
	LastRun *ledger.Run   `json:"last_run,omitempty"`
}

// Status makes the command status.
func Status(p *wire.Program) *cobra.Command {
	var form *wire.Output
	var records, draw bool
	var maxAge time.Duration
	cmd := &cobra.Command{
		Use:     "status [job...]",
		Aliases: []string{"gaps"},
		Short:   "Show what is there, missing or wrong, and why, and the last run",
		Long: `Show, of each table, how many partitions are final, still restated by the
service, and reconciled with its totals; what is missing or wrong, by day, with
the command that ends it; and which periods aren't due yet. Below that, the last
run, and where the ledger is. Of jobs that are named all days are listed. Sinks
are asked what they hold, and nothing is asked of the service.

The exit code is 3 when a job's last run failed, or something is wrong with its
table: days are missing, too old for it, failed, held back, deleted or changed
in the sink, different from the service's totals, suspected to be empty, or of
another meaning than the others; and with --max-age when a table is older than
that: the period after its newest one ended so long ago, or its last success
was. A job of kind spend, sharing or apps has no periods: it is too old when no
run of it that long has ended without a failure.`,
		ValidArgsFunction: p.CompleteJobs,
		RunE: func(cmd *cobra.Command, names []string) error {
			return p.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error {
				past, err := s.Past(ctx, wire.LastRuns)
				if err != nil {
					return err
				}
				tables, damaged := statuses(ctx, s, names, past, maxAge, records)
				for i, t := range tables {
					sub, _, err := cmd.Root().Find([]string{t.Kind, "status"})
					tables[i].detailed = err == nil && sub.Name() == "status" && t.Kind != ""
				}
				at := wire.Place(s.Config.Ledger)
				if form.JSON() {
					err = writeStatusJSON(cmd.OutOrStdout(), at, tables, past.Runs)
				} else {
					days := mostDays
					if len(names) > 0 {
						days = 0
					}
					writeStatus(cmd.OutOrStdout(), s.Again(), tables, past.Runs, time.Now(), days, draw &&
						terminal.Is(cmd.OutOrStdout()))
					fmt.Fprintf(cmd.OutOrStdout(), "ledger: %s\n", terminal.Line(at))
				}
				if err := errors.Join(damaged, err); err != nil {
					return err
				}
				if slices.ContainsFunc(tables, func(t tableStatus) bool {
					return t.Stale != "" || t.Unsure != "" || t.Missing > 0 || status.AnyWrong(t.Problems)
				}) {
					return text.SilentExit(jobs.ExitSome)
				}
				return nil
			})
		},
	}
	form = p.AddOutput(cmd, "one object", allStatus{})
	cmd.Flags().BoolVar(&records, "records", false, "with --output json: every partition's record too")
	cmd.Flags().BoolVar(&draw, "plot", false, "on a terminal: draw the rows of each table's last 60 partitions")
	cmd.Flags().DurationVar(&maxAge, "max-age", 0,
		"exit with 3 when a table, or the last success of a job without one, is older, such as 26h")
	return cmd
}

// statuses describes each table that can be read, and returns the errors of the others.
func statuses(ctx context.Context, e *wire.Session, names []string, past ledger.Past, maxAge time.Duration,
	records bool) ([]tableStatus, error) {
	chosen, err := e.Choose(names)
	if err != nil {
		return nil, err
	}
	var out []tableStatus
	var damaged []error
	for _, c := range chosen {
		if c.Sinks == nil {
			s, err := runStatus(ctx, e, c, past, maxAge)
			damaged = append(damaged, err)
			out = append(out, s)
			continue
		}
		t, err := e.Ledger.Table(ctx, c.Table)
		if err != nil {
			damaged = append(damaged, err)
			continue
		}
		s := statusOf(c.Name, t, records)
		in, err := e.InspectSinks(ctx, c, past)
		switch {
		case err == nil:
			s.Missing, s.Gaps, s.Rest, s.Counts, s.Problems, s.calendar = in.Missing(), in.Gaps, in.Rest, &in.Counts,
				in.Problems, in.Calendar
			if pieces := refresh.Pieces(in.Period, in.Calendar); len(pieces) > 1 {
				s.Pieces = pieces
			}
		case maxAge == 0: // the rest of the status is known without the inspection
			s.Unsure, s.Problems = text.FirstLine(err.Error()), status.LastFailed(c.Name, past, nil)
		default:
			damaged = append(damaged, err)
		}
		if maxAge > 0 {
			s.Fresh, s.Stale = &in.Fresh, in.Fresh.Stale(time.Now(), maxAge)
		}
		out = append(out, s)
	}
	return out, errors.Join(damaged...)
}

// statusOf adds up the records of a table.
func statusOf(job string, t *ledger.Table, records bool) tableStatus {
	s := tableStatus{Job: job, Table: t.Name()}
	for _, e := range t.Sorted() {
		s.Partitions++
		s.Rows += e.Rows
		switch e.State {
		case ledger.Empty, ledger.Cleared:
			s.Empty++
		case ledger.Publishing:
			s.Interrupted++
		}
		if s.Oldest == nil {
			s.Oldest = &e.Partition
		}
		s.Newest = &e.Partition
		if !e.Fetched.IsZero() && (s.Fetched == nil || e.Fetched.After(*s.Fetched)) {
			s.Fetched = &e.Fetched
		}
		if records {
			s.Records = append(s.Records, e)
		}
	}
	return s
}

// rowsOf returns the number of rows of each partition of a table as points to plot, with a break
// between pieces.
func rowsOf(calendar []refresh.Entry, pieces []refresh.Piece) (points []text.PlotPoint) {
	for i, e := range calendar {
		if i > 0 && slices.ContainsFunc(pieces, func(p refresh.Piece) bool { return p.From == e.Partition }) {
			points = append(points, text.PlotPoint{Break: true})
		}
		points = append(points, text.PlotPoint{
			Name: text.DayRange(e.Partition, e.Partition), Value: float64(e.Record.Rows), Hole: e.Gap != nil,
			Open: e.Finality.State != refresh.Final && e.Finality.State != "",
		})
	}
	return points
}

// writeStatusJSON writes where the ledger is, all tables and the last run as one JSON object.
func writeStatusJSON(w io.Writer, at string, tables []tableStatus, runs []ledger.Run) error {
	out := allStatus{Ledger: at, Tables: tables}
	if len(runs) > 0 {
		out.LastRun = &runs[0]
	}
	return text.JSON(w, out)
}

// writeStatus writes a few lines for each table, and draws its rows if draw is set. Then it writes
// the last run and its errors. days bounds the rows that list the days of a problem; 0 means all.
func writeStatus(w io.Writer, again string, tables []tableStatus, runs []ledger.Run, now time.Time, days int,
	draw bool) {
	for _, s := range tables {
		switch {
		case s.Kind != "" && s.Fresh.Success == nil:
			fmt.Fprintf(w, "%s: no run of it has succeeded yet\n", s.Job)
		case s.Kind != "":
			fmt.Fprintf(w, "%s: last success %s", s.Job, text.Ago(now, *s.Fresh.Success))
			if s.detailed {
				fmt.Fprintf(w, "; see %s status", s.Kind)
			}
			fmt.Fprintln(w)
		case s.Newest == nil:
			fmt.Fprintf(w, "%s: nothing recorded yet in this ledger\n", s.Job)
		}
		if s.Newest == nil {
			writeTroubles(w, again, s, days)
			continue
		}
		pieces := ""
		if n := len(s.Pieces); n > 1 {
			pieces = fmt.Sprintf(" in %d pieces", n)
		}
		fmt.Fprintf(w, "%s: %s%s, %s, %s rows\n", s.Job, text.DayRange(*s.Oldest, *s.Newest), pieces,
			text.Plural(s.Partitions, "partition"), text.Count(s.Rows))
		if s.Fetched == nil {
			fmt.Fprint(w, "  never fetched")
		} else {
			fmt.Fprintf(w, "  last fetch %s ago", now.Sub(*s.Fetched).Round(time.Second))
		}
		if s.Empty > 0 {
			fmt.Fprintf(w, ", %d empty", s.Empty)
		}
		if s.Counts != nil && len(s.Gaps) == 0 {
			fmt.Fprint(w, ", no gaps")
		}
		fmt.Fprintln(w)
		if s.Counts != nil {
			writeCounts(w, *s.Counts)
		}
		writeTroubles(w, again, s, days)
		if draw {
			text.Plot(w, "rows", rowsOf(s.calendar, s.Pieces))
		}
	}
	if len(runs) == 0 {
		return
	}
	run := runs[0]
	fmt.Fprintf(w, "last run: %s (%s), ", run.ID, run.Trigger)
	if run.Ended == nil {
		fmt.Fprintf(w, "still running, or killed\n")
		return
	}
	fmt.Fprintf(w, "exit code %d, %s ago\n", run.Exit, now.Sub(*run.Ended).Round(time.Second))
	for _, msg := range status.FurtherErrors(run) { // the problems contain the others
		fmt.Fprintf(w, "  error in %s\n", strings.ReplaceAll(msg, "\n", "\n    "))
	}
}

// writeTroubles writes what is wrong with a table, or why that isn't known, and which partitions
// aren't due yet.
func writeTroubles(w io.Writer, again string, s tableStatus, days int) {
	if s.Stale != "" {
		fmt.Fprintf(w, "  stale: %s\n", s.Stale)
	}
	text.Problems(w, "  ", again, s.Problems, days)
	writeWaiting(w, s.Gaps)
	if s.Unsure != "" {
		fmt.Fprintf(w, "  what is missing isn't known: error: %s\n", s.Unsure)
	}
}

// mostDays bounds the rows that list a problem's partitions.
const mostDays = 5

// runStatus describes a job that fills no table: when it last succeeded.
func runStatus(ctx context.Context, e *wire.Session, c config.Job, past ledger.Past, maxAge time.Duration) (tableStatus,
	error) {
	now, success := time.Now(), past.SuccessOf(c.Name)
	s := tableStatus{Job: c.Name, Table: c.Table, Kind: c.Kind, Fresh: &refresh.Freshness{Success: success},
		Problems: status.LastFailed(c.Name, past, nil)}
	if c.Kind == "spend" || c.Kind == "sharing" {
		files, err := outbox.New(outbox.Options{Ledger: e.Ledger, Table: c.Table}).Files(ctx)
		if err != nil {
			return s, err
		}
		s.Problems = append(s.Problems, notTaken(now, c, files)...)
	}
	switch {
	case maxAge == 0:
	case success == nil:
		s.Stale = fmt.Sprintf("no run of it that ended without a failure is recorded of the last %v", maxAge)
	default:
		s.Stale = s.Fresh.Stale(now, maxAge)
	}
	return s, nil
}

// notTaken returns one problem if rows of recently pushed files weren't taken, and none otherwise.
// No run solves the problem, because somebody has to write the rows anew.
func notTaken(now time.Time, c config.Job, pushed []outbox.File) []ledger.Problem {
	var o ledger.Outcome
	files := 0
	for _, f := range outbox.Latest(pushed) {
		if f.NotTaken() > 0 && now.Sub(f.Last) < outbox.Recent {
			files++
			o.Add(ledger.Outcome{Refused: f.Refused, Rejected: f.Rejected, Partly: f.Partly, Conflicts: f.Conflicts})
		}
	}
	if files == 0 {
		return nil
	}
	return []ledger.Problem{{
		Condition: "rows not taken", Advice: "which they are, and why", Command: c.Kind + " status --job " + c.Name,
		What: fmt.Sprintf("%s of %s not taken: %s", text.Plural(int(o.NotTaken()), "row"), text.Plural(files, "file"),
			see.NotTaken(o.Refused, o.Rejected, o.Partly, o.Conflicts)),
	}}
}
