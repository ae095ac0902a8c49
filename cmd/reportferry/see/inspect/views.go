package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/views"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/state"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/bqsink"
)

// Views makes the command views.
func Views(p *wire.Program) *cobra.Command {
	var by []string
	var apply, union, cohorts, events bool
	var dialect string
	cmd := &cobra.Command{
		Use:   "views <job>",
		Short: "Print, or make, the views that dashboards read",
		Long: `Print the views that dashboards read, in the SQL of the job's sinks: BigQuery,
Postgres, or DuckDB for files. An Iceberg table is read by several engines, of
which --dialect names one. One view sums a job's metrics by its date and the
dimensions of --by, and computes ratios from these sums: an average of averages
would be wrong. What can't be summed and can't be computed from what the table
has is left out, and said. Another tells how fresh tables are. The others are
the job's final rows, which of all tables' partitions are final, and what was
restated of them. While a rebaseline isn't finished, the rows that it hasn't
replaced are in none: they are of another currency, zone or filter.

With --cohorts there is TABLE_cohorts, which has cohort metrics in long form: of
retained_users_d1 and retained_users_d7 it makes one column, retained_users, and
two rows, with 1 and 7 in the column period and day, week or month in
period_unit. ripe says whether that period has passed for the users of the row's
date; rows that aren't ripe are there, and still grow. cost stands in the row of
each period. With --events there is TABLE_events, which makes of purchase_events
and purchase_revenue the columns event, events and revenue. Both have the date
and the dimensions of --by, or without it all dimensions.

Of an entry of the config with several accounts the views of each account's
table are printed. With --union there is one more, by the entry's name, with the
rows of all of them and the account in its first column.

BigQuery gets the views with --apply. The others are printed for the engine:

  reportferry views campaigns --dialect duckdb | duckdb dashboards.duckdb
  reportferry views campaigns --dialect spark > made.sql; spark-sql -f made.sql
  reportferry views campaigns --dialect trino > made.sql; trino -f made.sql
  reportferry views campaigns --dialect postgres | psql

DuckDB's are made beside the tables: of files in a folder or bucket, for which
it wants its extension httpfs and a secret, or of an Iceberg catalog, attached
under the name that the sink's URL has.`,
		Example: `  reportferry views campaigns_daily --by network,app
  reportferry views cohorts_daily --cohorts
  reportferry views campaigns_daily --dialect duckdb`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteJobs,
		RunE: func(cmd *cobra.Command, names []string) error {
			if known := dialectNames(); dialect != "" && !slices.Contains(known, dialect) {
				return fmt.Errorf("--dialect %q: want %s", dialect, oneOf(known))
			}
			if apply && dialect == "" {
				dialect = views.BigQuery.Name
			}
			if apply && dialect != views.BigQuery.Name {
				return fmt.Errorf("--apply makes views in BigQuery alone; leave it out, and give what is printed to "+
					"the engine of --dialect %s", dialect)
			}
			return p.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error {
				chosen, err := s.Choose(names)
				if err != nil {
					return err
				}
				if c := chosen[0]; union && (c.Account == "" || c.Entry != names[0]) {
					return text.UsageError(fmt.Errorf("--union: %s is one table; name an entry of the config that has "+
						"accounts, or leave it out", names[0]))
				}
				v := &viewMaker{cmd: cmd, program: p, session: s, by: by, dialect: dialect, apply: apply, union: union,
					cohorts: cohorts, events: events, printed: map[string]bool{}, withoutRows: map[string]bool{}}
				return v.makeViews(ctx, chosen)
			})
		},
	}
	cmd.Flags().StringSliceVar(&by, "by", nil, "dimensions to keep beside the date: `a,b`")
	cmd.Flags().BoolVar(&union, "union", false, "one view more, of the tables of all accounts")
	cmd.Flags().BoolVar(&cohorts, "cohorts", false, "one view more, with a row for each period of a cohort")
	cmd.Flags().BoolVar(&events, "events", false, "one view more, with a row for each event")
	cmd.Flags().BoolVar(&apply, "apply", false, "make the views in the job's datasets of BigQuery")
	cmd.Flags().StringVar(&dialect, "dialect", "",
		"only the views of this `SQL`: "+oneOf(dialectNames())+"; default: what the sinks are")
	// The error would say that there is no such flag.
	_ = cmd.RegisterFlagCompletionFunc("dialect", cobra.FixedCompletions(dialectNames(),
		cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// A viewMaker makes views as the command line asks.
type viewMaker struct {
	cmd         *cobra.Command
	program     *wire.Program
	session     *wire.Session
	by          []string
	dialect     string
	apply       bool            // run the statements in BigQuery
	union       bool            // one view more, of the tables of all accounts
	cohorts     bool            // one view more, by cohort and period
	events      bool            // one view more, by event
	printed     map[string]bool // statements that were printed: several tables share some
	withoutRows map[string]bool // kinds of tables of states that were noted to have no rows
}

// JobOf returns a job with only those of its sinks that the dialect can read. The others aren't
// opened, so they need no credentials. Those that are opened aren't asked anything, because the job
// is planned without sinks. Without a dialect, each sink must be readable by one engine only. An
// error says which sink can't be opened, or that the dialect reads none.
func JobOf(ctx context.Context, s *wire.Session, c config.Job, dialect string) (jobs.Job, error) {
	all := c.Sinks
	if dialect != "" && all != nil {
		c.Sinks = slices.DeleteFunc(slices.Clone(all), func(url string) bool {
			return !slices.Contains(DialectsOf(url),
				dialect)
		})
		if len(c.Sinks) == 0 {
			return jobs.Job{}, text.UsageError(fmt.Errorf("job %s has no sink that is read by the SQL of %s; it has %s",
				c.Name, dialect, redacted(all)))
		}
	}
	for _, url := range c.Sinks {
		if engines := DialectsOf(url); dialect == "" && len(engines) > 1 {
			return jobs.Job{}, text.UsageError(fmt.Errorf("job %s: several engines read %s, each with an SQL of its "+
				"own; name yours by --dialect: %s",
				c.Name, sinks.Redact(url), oneOf(engines)))
		}
	}
	var targets []ledger.Target
	for _, url := range c.Sinks {
		sink, err := s.OpenSink(ctx, url)
		if err != nil {
			return jobs.Job{}, fmt.Errorf("job %s: %w", c.Name, text.RefusedError(err))
		}
		targets = append(targets, ledger.Target{Name: sinks.Redact(url), Sink: sink, Store: sink.Store()})
	}
	c.Sinks = nil
	job, err := s.Job(ctx, c, wire.Ask{})
	job.Targets = targets
	return job, err
}

// redacted names sinks without what may be secret.
func redacted(urls []string) string {
	var names []string
	for _, url := range urls {
		names = append(names, sinks.Redact(url))
	}
	return strings.Join(names, ", ")
}

// makeViews prints the statements of the views of each job for each of its sinks, and runs those of
// BigQuery if it is asked to.
func (v *viewMaker) makeViews(ctx context.Context, chosen []config.Job) error {
	var readings []Reading // by sink; all accounts of an entry have the same ones
	var targets []ledger.Target
	var members [][]views.Member
	for _, c := range chosen {
		job, err := JobOf(ctx, v.session, c, v.dialect)
		if err != nil {
			return err
		}
		schema, table, left, err := designOf(ctx, job, v.by)
		if err != nil {
			return err
		}
		var long []views.Long
		if long, err = v.longViews(job.Table, schema); err != nil {
			return fmt.Errorf("job %s: %w: %w", job.Name, ledger.ErrRefused, err)
		}
		members = append(members, make([][]views.Member, max(0, len(job.Targets)-len(members)))...)
		readings, targets = nil, job.Targets
		for i, target := range job.Targets {
			r, err := readingOf(ctx, v.session, target, job.Table, v.dialect)
			if err != nil {
				return fmt.Errorf("job %s: %w", job.Name, err)
			}
			list, err := r.Views(table, long...)
			if err == nil && v.union {
				var m views.Member
				m, err = r.member(c.Account, table, schema)
				members[i] = append(members[i], m)
			}
			if err != nil {
				return fmt.Errorf("job %s: %w", job.Name, err)
			}
			if err := v.write(ctx, target, r, list...); err != nil {
				return err
			}
			readings, left = append(readings, r), append(left, v.emptyStates(r)...)
		}
		for _, l := range left {
			v.program.Note(v.cmd.ErrOrStderr(), "left out: "+l)
		}
	}
	// The view of all accounts, for each sink.
	for i, r := range readings {
		if !v.union {
			break
		}
		name := strings.TrimSuffix(chosen[0].Table, "_"+chosen[0].Account)
		if err := v.write(ctx, targets[i], r, r.Union(name, accountColumn, members[i])); err != nil {
			return err
		}
	}
	return nil
}

// designOf returns the schema of a job's table, the view that sums it, and what that view leaves
// out.
func designOf(ctx context.Context, job jobs.Job, by []string) (schema *sinks.Schema, table views.Table, left []string,
	err error) {
	plan, err := job.Kind.Plan(ctx, time.Now())
	switch {
	case err != nil:
		return nil, table, nil, err
	case plan.Table == nil:
		return nil, table, nil, fmt.Errorf("job %s: %w: its kind has no metrics to sum", job.Name, ledger.ErrRefused)
	}
	if schema, err = plan.Table.Schema(ctx); err != nil {
		return nil, table, nil, err
	}
	if table, left, err = Summed(job.Table, schema, by); err != nil {
		err = fmt.Errorf("job %s: %w: %w", job.Name, ledger.ErrRefused, err)
	}
	return schema, table, left, err
}

// write prints the statements that weren't printed before, and runs them in BigQuery.
func (v *viewMaker) write(ctx context.Context, target ledger.Target, r Reading, list ...views.View) error {
	for _, view := range list {
		text := r.Create(view)
		if v.printed[text] {
			continue
		}
		v.printed[text] = true
		fmt.Fprintf(v.cmd.OutOrStdout(), "%s\n", text)
		warehouse, ok := target.Sink.(*bqsink.Sink)
		if !ok || !v.apply {
			continue
		}
		name := warehouse.Named(view.Name)
		if err := warehouse.SaveView(ctx, name, view.Query); err != nil {
			return err
		}
		v.program.Note(v.cmd.ErrOrStderr(), "made "+name)
	}
	return nil
}

// emptyStates prints a note about each view of states that has no rows yet, and returns the views
// that aren't made because of that.
func (v *viewMaker) emptyStates(r Reading) (left []string) {
	for _, kind := range StateKinds {
		switch hasRows := len(r.States[kind]) > 0; {
		case hasRows || v.withoutRows[kind]:
		case r.Name == views.BigQuery.Name:
			left = append(left, r.Prefix+kind+", which has no rows of the job's table yet")
		default:
			v.withoutRows[kind] = true
			v.program.Note(v.cmd.ErrOrStderr(),
				"without rows: "+r.Prefix+kind+"; print the views again when it has some")
		}
	}
	return left
}

// StateKinds are the kinds of tables of states, in the order of their views.
var StateKinds = []string{state.Partitions, state.Restatements}
