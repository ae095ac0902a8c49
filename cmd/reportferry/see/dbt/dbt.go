// Package dbt writes the config's tables as a project of dbt: sources, models, tests, exposures and
// semantic models. Without it everybody who models the tables would copy their columns, keys and
// finality into files by hand, and these would be wrong after the next change of the config.
//
//	config ─ schemas of the tables ─┬─ sources, tests of keys, freshness
//	ledger ─ what states are there ─┼─ models, which are the views of package views
//	                                └─ semantic models: measures, ratios
package dbt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/see/inspect"
	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/views"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/state"
	"github.com/reportferry/reportferry/sinks"
)

// dialects are the SQL dialects of the dbt adapters that projects are written for.
var dialects = []views.Dialect{views.BigQuery, views.Postgres, views.DuckDB}

// New returns the command "dbt".
func New(p *wire.Program) *cobra.Command {
	var out, dialect string
	var by []string
	cmd := &cobra.Command{
		Use:   "dbt [job...] --out DIR",
		Short: "Write the tables as a dbt project",
		Long: `Write a dbt project of the tables of all jobs, or of those named: it runs by
itself, and another project takes it as a local package. It has

  sources    the tables with types and descriptions, tests that keys are unique
             and dimensions never NULL, and how old the newest fetch may be
  models     the views of "reportferry views": stg_reportferry__TABLE without
             rows of another meaning, TABLE_final without what may still
             change, TABLE_by_DATE with sums and ratios, partitions, freshness
  tests      which partitions differ from the service's totals, and which
             changed after they were final; both only warn
  exposures  the dashboards of deploy/bi
  semantic   a measure for each metric that adds up, unique users as of the
             last period, ratios of measures, and a time spine of days

It is for the sinks of the jobs: a folder or bucket by dbt-duckdb, BigQuery by
dbt-bigquery, or Postgres by dbt-postgres; dbt 1.10.5 or newer. Of jobs that
have several of these, --dialect names one. Nothing is asked of the sinks.

Do the same after a change of the config. It replaces files that it has written,
removes those that aren't needed any more, and leaves profiles.yml alone once it
is there. A file of somebody else in the place of one is refused.`,
		Example: `  reportferry dbt --out ./dbt
  reportferry dbt campaigns_daily --by network --dialect bigquery --out dbt`,
		ValidArgsFunction: p.CompleteJobs,
		RunE: func(cmd *cobra.Command, names []string) error {
			if out == "" {
				return text.UsageError(errors.New("--out: want the folder of the project, such as ./dbt; it is made " +
					"if it isn't there"))
			}
			return p.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error {
				chosen, err := s.Choose(names)
				if err != nil {
					return err
				}
				made, err := gather(ctx, s, chosen, dialect, by)
				if err != nil {
					return err
				}
				files, err := made.files()
				if err != nil {
					return err
				}
				if err := write(out, files); err != nil {
					return fmt.Errorf("write the project: %w", err)
				}
				for _, l := range made.leftOut {
					p.Note(cmd.ErrOrStderr(), "left out: "+l)
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s of %s; next: cd %s && dbt build\n", text.Plural(len(files), "file"),
					text.Plural(len(made.tables), "table"), out)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "the project's `folder`")
	cmd.Flags().StringSliceVar(&by, "by", nil,
		"dimensions that sums keep beside the date, where a table has them: `a,b`")
	cmd.Flags().StringVar(&dialect, "dialect", "", "the `SQL` of the sinks: "+strings.Join(dialectNames(),
		", ")+"; default: what the sinks are")
	// It fails only for a flag that isn't defined.
	_ = cmd.RegisterFlagCompletionFunc("dialect", cobra.FixedCompletions(dialectNames(),
		cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// dialectNames returns the names of the dialects.
func dialectNames() (names []string) {
	for _, d := range dialects {
		names = append(names, d.Name)
	}
	return names
}

// A table is a table of the project, with the job that fills it.
type table struct {
	config.Job
	schema *sinks.Schema
	sums   views.Table // how its metrics are summed
}

// A project has all that the files are made of.
type project struct {
	views.Dialect
	place   place
	prefix  string // begins the names of state tables, which describe other tables
	tables  []table
	states  map[string][]string // the tables that have a state table, by its kind
	leftOut []string            // what is left out, and why
	labels  map[string]bool     // the labels of metrics so far; dbt wants each to be unique
}

// gather finds out what the project consists of. All that it may ask the service is the list of
// events.
func gather(ctx context.Context, s *wire.Session, chosen []config.Job, dialect string, by []string) (*project, error) {
	d, err := dialectOf(chosen, dialect)
	if err != nil {
		return nil, text.UsageError(err)
	}
	p := &project{Dialect: d, prefix: cmp.Or(s.Config.States, state.Prefix), labels: map[string]bool{}}
	var names []string
	var target ledger.Target // the one place of all tables
	var address string       // its URL
	// The tables: each with its schema, its place and its sums.
	for _, c := range chosen {
		if len(c.Sinks) == 0 {
			continue // the job has no table: it pushes files, or manages apps
		}
		c.Sinks = slices.DeleteFunc(slices.Clone(c.Sinks), func(url string) bool { return dialectBy(url) != d.Name })
		if len(c.Sinks) == 0 {
			p.leftOut = append(p.leftOut, fmt.Sprintf("job %s, which has no sink for the SQL of %s", c.Name, d.Name))
			continue
		}
		job, err := inspect.JobOf(ctx, s, c, d.Name)
		if err != nil {
			return nil, err
		}
		plan, err := job.Kind.Plan(ctx, time.Now())
		if err != nil {
			return nil, err
		}
		t := table{Job: c}
		if t.schema, err = plan.Table.Schema(ctx); err != nil {
			return nil, err
		}
		for _, other := range job.Targets[1:] {
			p.leftOut = append(p.leftOut, fmt.Sprintf(
				"%s of job %s, because its first sink of that SQL counts", other.Name,
				c.Name))
		}
		if target.Store == "" {
			target, address = job.Targets[0], c.Sinks[0]
		}
		if job.Targets[0].Store != target.Store {
			return nil, text.UsageError(fmt.Errorf("the table %s is in %s, and others are in %s: a source of dbt is "+
				"one place; "+
				"name the jobs of one of them, and write a project for each", c.Table, job.Targets[0].Name,
				target.Name))
		}
		kept := slices.DeleteFunc(slices.Clone(by), func(name string) bool {
			return name == t.schema.On || !slices.ContainsFunc(t.schema.Columns,
				func(c sinks.Column) bool { return c.Name == name && c.Required })
		})
		var left []string
		if t.sums, left, err = inspect.Summed(c.Table, t.schema, kept); err != nil {
			left = append(left, "sums: "+err.Error())
		}
		for _, l := range left {
			p.leftOut = append(p.leftOut, c.Table+": "+l)
		}
		p.tables, names = append(p.tables, t), append(names, c.Table)
	}
	// What all tables have in common: their place, the state tables, and the dimensions of --by.
	if len(p.tables) == 0 {
		return nil, text.UsageError(fmt.Errorf("no job has a table that dbt reads by the SQL of %s; want one with a "+
			"sink in a folder, a bucket, "+
			"BigQuery or Postgres", d.Name))
	}
	if p.place, err = placeOf(target, address, d); err != nil {
		return nil, err
	}
	if p.states, err = inspect.StateTables(ctx, s.Ledger, p.prefix, names); err != nil {
		return nil, err
	}
	for _, name := range by {
		without := slices.DeleteFunc(slices.Clone(p.tables),
			func(t table) bool { return slices.Contains(t.sums.By, name) })
		if len(without) == len(p.tables) {
			return nil, text.UsageError(fmt.Errorf("--by %s: no table has such a dimension beside its date", name))
		}
		for _, t := range without {
			p.leftOut = append(p.leftOut, fmt.Sprintf(
				"%s: --by %s, which isn't a dimension of it beside its date", t.Table,
				name))
		}
	}
	for _, kind := range inspect.StateKinds {
		without := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return p.hasStates(kind, name) })
		if len(without) > 0 {
			p.leftOut = append(p.leftOut, fmt.Sprintf(
				"%s%s of %s, which has no rows yet; write the project again when it "+
					"has some",
				p.prefix, kind, strings.Join(without, ", ")))
		}
	}
	return p, nil
}

// dialectBy returns the name of the dialect of the engine that reads a sink with this URL, or ""
// when several engines read it.
func dialectBy(url string) string {
	if engines := inspect.DialectsOf(url); len(engines) == 1 {
		return engines[0]
	}
	return ""
}

// dialectOf returns the dialect that is asked for, or the only one that the jobs' sinks have.
func dialectOf(chosen []config.Job, asked string) (views.Dialect, error) {
	var names []string
	for _, c := range chosen {
		for _, url := range c.Sinks {
			if name := dialectBy(url); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if asked == "" && len(names) == 1 {
		asked = names[0]
	}
	for _, d := range dialects {
		if d.Name == asked {
			return d, nil
		}
	}
	switch {
	case asked != "":
		return views.Dialect{}, fmt.Errorf("--dialect %q: want one of %s", asked, strings.Join(dialectNames(), ", "))
	case len(names) == 0:
		return views.Dialect{}, errors.New("no job has a table in a folder, a bucket, BigQuery or Postgres, which a " +
			"project of dbt is written for")
	}
	return views.Dialect{}, fmt.Errorf("the jobs' sinks are read by the SQL of %s; choose one by --dialect",
		strings.Join(names, ", "))
}
