package see

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"cloud.google.com/go/civil"
	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

// usualPeriods is how many periods are shown unless --from or --to says otherwise.
const usualPeriods = 14

// History makes the command history.
func History(p *wire.Program) *cobra.Command {
	var from, to string
	var form *wire.Output
	var metrics []string
	cmd := &cobra.Command{
		Use:   "history <job>",
		Short: "Show how a table's numbers came to be what they are",
		Long: `Show how a table's numbers came to be what they are: of each period every
content that it has had, with when and why it was fetched first. Fetches that
changed nothing make no line of their own. Below a content stands what happened
while it was there: an answer that was held back, rows that differ from the
service's totals alike on three days, and what was accepted, with the reason.
Nothing is asked of the service.

The ledger has the sums of metrics that add up. Without --metric the table shows
the rows of each content and which sums moved. The state is that of its last
fetch: partial while the period wasn't over, restating while the service could
still change the numbers, or final; kept, cleared and empty are what became of
an answer without rows. As JSON each line is a content, as CSV a number.

Without --from and --to it shows the last 14 periods. A day is a date, days
before today such as -30d, yesterday or today, in the zone of the job's report.`,
		Example: `  reportferry history campaigns_daily --metric cost
  reportferry history campaigns_daily --from 2026-01-01 --to 2026-01-31 \
      --metric cost,installs --output csv`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteJobs,
		RunE: func(cmd *cobra.Command, names []string) error {
			write := wire.Form(form, map[string]func(tableHistory, io.Writer) error{wire.Text: tableHistory.writeTable,
				wire.JSON: tableHistory.writeJSON, "csv": tableHistory.writeCSV})
			return p.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error {
				first, last, err := daysBetween(s, names[0], from, to)
				if err != nil {
					return err
				}
				t, err := readHistory(ctx, s, names[0], first, last, metrics)
				if err != nil {
					return err
				}
				if t.cut {
					p.Note(cmd.ErrOrStderr(), fmt.Sprintf("reportferry: the last %d periods; --from shows earlier ones",
						usualPeriods))
				}
				return write(t, cmd.OutOrStdout())
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "first `day`: periods that begin earlier aren't shown")
	cmd.Flags().StringVar(&to, "to", "", "last `day`: periods that begin later aren't shown")
	cmd.Flags().StringSliceVar(&metrics, "metric", nil, "only these numbers, such as `cost`, or rows")
	form = p.AddOutput(cmd, "one object a content", contentLine{}, "csv")
	return cmd
}

// daysBetween reads --from and --to in the days of a job. Either may be missing.
func daysBetween(s *wire.Session, job, from, to string) (first, last civil.Date, err error) {
	if from != "" && to != "" {
		return s.Range(job, from, to)
	}
	if from != "" {
		first, _, err = s.Range(job, from, "9999-12-31")
	} else if to != "" {
		_, last, err = s.Range(job, "0001-01-01", to)
	}
	return first, last, err
}

// A tableHistory has the contents that a job's partitions have had.
type tableHistory struct {
	job, table string
	metrics    []string                      // the ones asked for; nil: all
	records    []ledger.Record               // one for each content, by partition, oldest first
	changes    map[recordID][]refresh.Change // how each content differs from the one before
	cut        bool                          // earlier periods were left out, because neither --from nor --to was given
}

// A recordID names a record of a table.
type recordID struct {
	partition civil.Date
	seq       int
}

// readHistory reads the history of a job's table from one day to another. Either may be
// missing; without both it reads the usual number of periods.
func readHistory(ctx context.Context, s *wire.Session, name string, first, last civil.Date,
	metrics []string) (t tableHistory, err error) {
	job, err := s.ChooseOne(name)
	if err != nil {
		return t, err
	}
	if job.Sinks == nil {
		return t, text.UsageError(fmt.Errorf("job %s: its kind, %s, fills no table, so that nothing of it has a "+
			"history", job.Name, job.Kind))
	}
	table, err := s.Ledger.Table(ctx, job.Table)
	if err != nil {
		return t, err
	}
	t = tableHistory{job: job.Name, table: job.Table, metrics: metrics, changes: map[recordID][]refresh.Change{}}
	now := table.Sorted()
	if err := t.checkMetrics(now); err != nil {
		return t, err
	}
	if n := len(now); !first.IsValid() && !last.IsValid() && n > usualPeriods {
		first, t.cut = now[n-usualPeriods].Partition, true
	}
	until := last
	if last.IsValid() {
		until = last.AddDays(1)
	}
	if t.records, err = table.History(ctx, first, until); err != nil {
		return t, err
	}
	for _, c := range refresh.Changes(t.records) {
		key := recordID{c.Partition, c.Seq}
		t.changes[key] = append(t.changes[key], c)
	}
	return t, nil
}

// checkMetrics refuses metrics that have no sum in any partition.
func (t tableHistory) checkMetrics(records []ledger.Record) error {
	names := map[string]bool{refresh.RowCount: true}
	for _, e := range records {
		for name := range e.Sums {
			names[name] = true
		}
	}
	for _, m := range t.metrics {
		if !names[m] {
			all := slices.Sorted(maps.Keys(names))
			hint := ""
			if near := catalog.Nearest(m, all); len(near) > 0 {
				hint = "; did you mean " + strings.Join(near, " or ") + "?"
			}
			return text.UsageError(fmt.Errorf("--metric %s: the ledger has no sum of it, because the job has no such "+
				"metric, or it doesn't add up%s; it has %s",
				m, hint, strings.Join(all, ", ")))
		}
	}
	return nil
}
