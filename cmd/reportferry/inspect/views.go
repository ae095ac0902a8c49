package inspect

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/state"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/bqsink"
)

// Views makes the command views.
func Views(p *wire.Program) *cobra.Command {
	var by []string
	var apply bool
	var dialect string
	cmd := &cobra.Command{
		Use:   "views <job>",
		Short: "Print, or make, the views that dashboards read",
		Long: `Print the views that dashboards read, as the SQL of BigQuery, of DuckDB, or of
both when the job has sinks of both sorts. One sums a job's metrics by its date
and the dimensions of --by, and computes ratios from these sums: an average of
averages would be wrong. What can't be summed and can't be computed from what
the table has is left out, and said. Another tells how fresh tables are. The
others are the job's final rows, which of all tables' partitions are final, and
what was restated of them.

BigQuery gets the views with --apply. DuckDB's are of the files in the folder or
bucket, with the table itself, and need no credentials of Google:

  reportferry views campaigns --dialect duckdb | duckdb dashboards.duckdb

For files in a bucket, DuckDB wants its extension httpfs and a secret.`,
		Example: `  reportferry views campaigns_daily --by network,app
  reportferry views campaigns_daily --dialect duckdb`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteJobs,
		RunE: func(cmd *cobra.Command, names []string) error {
			if !slices.Contains([]string{"", "bigquery", "duckdb"}, dialect) {
				return fmt.Errorf("--dialect %q: want bigquery or duckdb", dialect)
			}
			return p.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error {
				chosen, err := s.Choose(names)
				if err != nil {
					return err
				}
				job, err := jobOf(ctx, s, chosen[0], dialect)
				if err != nil {
					return err
				}
				return makeViews(cmd, p, s.Ledger, job, by, apply)
			})
		},
	}
	cmd.Flags().StringSliceVar(&by, "by", nil, "dimensions to keep beside the date: `a,b`")
	cmd.Flags().BoolVar(&apply, "apply", false, "make the views in the job's datasets of BigQuery")
	cmd.Flags().StringVar(&dialect, "dialect", "", "only the views of this `SQL`: bigquery or duckdb; default: what the sinks are")
	return cmd
}

// jobOf makes a job with those of its sinks alone that a dialect is for. What isn't opened needs no credentials.
func jobOf(ctx context.Context, s *wire.Session, c config.Job, dialect string) (jobs.Job, error) {
	if dialect != "" && c.Sinks != nil {
		all := c.Sinks
		c.Sinks = slices.DeleteFunc(slices.Clone(all), func(url string) bool { return strings.HasPrefix(url, "bigquery:") != (dialect == "bigquery") })
		if len(c.Sinks) == 0 {
			return jobs.Job{}, exit.Usage(fmt.Errorf("--dialect %s: job %s has no sink of that sort; it has %s", dialect, c.Name, redacted(all)))
		}
	}
	return s.Job(ctx, c, wire.Ask{})
}

// redacted names sinks without what may be secret.
func redacted(urls []string) string {
	var names []string
	for _, url := range urls {
		names = append(names, sinks.Redact(url))
	}
	return strings.Join(names, ", ")
}

// makeViews prints the statements of a job's views for each of its sinks, and runs those of BigQuery if apply is set.
func makeViews(cmd *cobra.Command, p *wire.Program, l *ledger.Ledger, job jobs.Job, by []string, apply bool) error {
	plan, err := job.Kind.Plan(cmd.Context(), time.Now())
	if err != nil {
		return err
	}
	if plan.Schema == nil {
		return fmt.Errorf("job %s: %w: its kind has no metrics to sum", job.Name, ledger.ErrRefused)
	}
	schema, err := plan.Schema(cmd.Context())
	if err != nil {
		return err
	}
	sums, left, err := summed(job.Table, schema, by)
	if err != nil {
		return fmt.Errorf("job %s: %w: %w", job.Name, ledger.ErrRefused, err)
	}
	told, err := toldOf(cmd.Context(), l, job.Table)
	if err != nil {
		return err
	}
	made, duck, warehouses := 0, false, false
	for _, target := range job.Targets {
		warehouse, ok := target.Sink.(*bqsink.Sink)
		if at, is := target.Sink.(lake); is && !apply {
			views, err := duckViews(at, job.Table, schema, sums, told)
			if err != nil {
				return err
			}
			for _, v := range views {
				fmt.Fprintf(cmd.OutOrStdout(), "CREATE OR REPLACE VIEW %s AS\n%s;\n\n", v.name, v.query)
			}
			made, duck = made+1, true
		}
		if !ok {
			continue
		}
		made, warehouses = made+1, true
		views, err := warehouseViews(warehouse, job.Table, schema, sums, told)
		if err != nil {
			return err
		}
		for _, v := range views {
			fmt.Fprintf(cmd.OutOrStdout(), "CREATE OR REPLACE VIEW `%s` AS\n%s;\n\n", v.name, v.query)
			if !apply {
				continue
			}
			if err := warehouse.SaveView(cmd.Context(), v.name, v.query); err != nil {
				return err
			}
			p.Note(cmd.ErrOrStderr(), "made "+v.name)
		}
	}
	if made == 0 {
		return fmt.Errorf("job %s: %w: none of its sinks has views; a bigquery:// sink has", job.Name, ledger.ErrRefused)
	}
	for _, kind := range []string{state.Partitions, state.Restatements} {
		switch {
		case slices.Contains(told, kind):
		case warehouses:
			left = append(left, kind+", which has no rows of the job's table yet")
		case duck:
			p.Note(cmd.ErrOrStderr(), "without rows: "+kind+"; print DuckDB's views again when it has some")
		}
	}
	for _, l := range left {
		p.Note(cmd.ErrOrStderr(), "left out: "+l)
	}
	return nil
}

// toldOf are the tables of states that have rows of a table. A view on one that isn't there couldn't be made.
func toldOf(ctx context.Context, l *ledger.Ledger, table string) (told []string, err error) {
	for _, kind := range []string{state.Partitions, state.Restatements} {
		t, err := l.Table(ctx, sinks.Derived(kind, table))
		if err != nil {
			return nil, err
		}
		if len(t.Records()) > 0 {
			told = append(told, kind)
		}
	}
	return told, nil
}

// warehouseViews are the views of a dataset in BigQuery.
func warehouseViews(at *bqsink.Sink, table string, s *sinks.Schema, sums bqsink.View, told []string) (views []view, err error) {
	for _, v := range []bqsink.View{sums, {Table: table, Freshness: true}} {
		name, query, err := at.View(v)
		if err != nil {
			return nil, err
		}
		views = append(views, view{name, query})
	}
	for _, kind := range told {
		name, query := at.Told(kind)
		views = append(views, view{name, query})
		if kind == state.Partitions {
			name, query = at.Final(table, s, kind)
			views = append(views, view{name, query})
		}
	}
	return views, nil
}

// summed designs the view that sums a table's metrics by its date and the dimensions of by. left names the metrics that it
// can't have, each with the reason.
func summed(table string, s *sinks.Schema, by []string) (v bqsink.View, left []string, err error) {
	v = bqsink.View{Table: table, On: s.On, By: by}
	columns := map[string]sinks.Column{}
	for _, c := range s.Columns {
		columns[c.Name] = c
	}
	for _, name := range by {
		if c, ok := columns[name]; !ok || !c.Required || name == s.On {
			return v, nil, fmt.Errorf("--by %s: the table has no such dimension beside its date", name)
		}
	}
	for _, c := range s.Columns {
		if c.Required {
			continue
		}
		f := metricField(c.Name)
		if overView(f, s, by) {
			v.Sums = append(v.Sums, c.Name)
			continue
		}
		formula, missing := expand(f.Formula(), columns, s, by)
		switch {
		case missing == "" && formula != "":
			v.Ratios = append(v.Ratios, bqsink.Ratio{Name: c.Name, Formula: formula})
		case missing != "":
			left = append(left, fmt.Sprintf("%s, which needs %s in the table", c.Name, missing))
		default:
			left = append(left, c.Name+", which can't be summed and has no formula")
		}
	}
	if len(v.Sums) == 0 {
		return v, left, errors.New("the table has no metric that can be summed")
	}
	return v, left, nil
}

// metricField describes a metric, also one of an event, which the catalogue derives from its name.
func metricField(slug string) catalog.Field {
	if f, ok := catalog.Metric(slug); ok {
		return f
	}
	f, _ := catalog.Guess(slug)
	return f
}

// overView tells whether a metric may be summed over all the dimensions that the view leaves out: unique users may not be
// summed over days, for example.
func overView(f catalog.Field, s *sinks.Schema, by []string) bool {
	for _, c := range s.Columns {
		if c.Required && c.Name != s.On && !slices.Contains(by, c.Name) && !f.AdditiveOver(c.Name) {
			return false
		}
	}
	return f.Additive != catalog.Nowhere
}

// expand rewrites a metric's formula until it consists of columns that the view sums. It replaces metrics that have formulas
// of their own; missing is the first one that has neither a column nor a formula.
func expand(formula string, columns map[string]sinks.Column, s *sinks.Schema, by []string) (text, missing string) {
	if formula == "" {
		return "", ""
	}
	e, err := parser.ParseExpr(formula)
	if err != nil {
		return "", ""
	}
	parts := map[string]string{}
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || id.Name == "abs" || missing != "" {
			return true
		}
		f := metricField(id.Name)
		if _, has := columns[id.Name]; has && overView(f, s, by) {
			return true
		}
		inner, lacks := expand(f.Formula(), columns, s, by)
		if inner == "" {
			missing = id.Name
			if lacks != "" {
				missing = lacks
			}
			return true
		}
		parts[id.Name] = "(" + inner + ")"
		return true
	})
	if missing != "" {
		return "", missing
	}
	return replaceWords(formula, parts), ""
}

// replaceWords replaces whole identifiers of a formula by the texts in parts.
func replaceWords(formula string, parts map[string]string) string {
	var b, word strings.Builder
	flush := func() {
		if to, ok := parts[word.String()]; ok {
			b.WriteString(to)
		} else {
			b.WriteString(word.String())
		}
		word.Reset()
	}
	for _, r := range formula {
		if r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			word.WriteRune(r)
			continue
		}
		flush()
		b.WriteRune(r)
	}
	flush()
	return b.String()
}
