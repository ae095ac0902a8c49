package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/after"
	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/formula"
	"github.com/reportferry/reportferry/jobs/state"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/bqsink"
)

// lake is a sink whose tables are files, which readers find by a pattern.
type lake interface{ Pattern(table string) string }

// A view is a name and a query in the SQL of the place that it is for.
type view struct{ name, query string }

// duckViews are the views of a bucket's files for DuckDB, in its SQL: the table, its sums, its final rows, what all tables tell, and
// how fresh they are. A view is made of files that are there; what isn't told yet is a view without rows.
func duckViews(at lake, table string, s *sinks.Schema, sums bqsink.View, told []string) ([]view, error) {
	views := []view{{duckQuote(table), "SELECT * FROM " + after.Scan(at.Pattern(table), true)}}
	query, kept, err := sums.Query(duckDialect, duckQuote(table))
	if err != nil {
		return nil, err
	}
	views = append(views, view{duckQuote(strings.Join(append([]string{table, "by"}, kept...), "_")), query})
	for _, kind := range []string{state.Partitions, state.Restatements} {
		if !slices.Contains(told, kind) {
			views = append(views, view{duckQuote(kind), untold(kind)})
			continue
		}
		views = append(views, view{duckQuote(kind), "SELECT * FROM " + after.Scan(at.Pattern(sinks.Derived(kind, "*")), false)})
	}
	final := fmt.Sprintf("SELECT partition_date FROM %s WHERE table_name = %s AND state = 'final'", duckQuote(state.Partitions), after.Text(table))
	where := "EXISTS (" + final + ")" // the table has no periods
	if s.On != "" {
		where = fmt.Sprintf("CAST(%s AS DATE) IN (%s)", duckQuote(s.On), final)
	}
	return append(views, view{duckQuote(table + "_final"), "SELECT * FROM " + duckQuote(table) + "\nWHERE " + where}, view{duckQuote("_reportferry_freshness"), duckFreshness}), nil
}

// duckFreshness tells of every table what the ledger has told of its partitions.
const duckFreshness = `SELECT
  table_name,
  MAX(partition_date) FILTER (row_count > 0) AS last_period,
  SUM(row_count) AS row_count,
  MAX(fetched) AS last_load,
  date_diff('minute', MAX(fetched), now() AT TIME ZONE 'UTC') AS age_minutes,
  CASE WHEN SUM(row_count) > 0 THEN 'filled' ELSE 'empty' END AS state
FROM "_reportferry_partitions"
GROUP BY table_name`

var duckDialect = formula.Dialect{Quote: duckQuote, Divide: func(left, right string) string { return "CAST(" + left + " AS DOUBLE) / NULLIF(" + right + ", 0)" }}

// duckTypes are DuckDB's of the columns that tables of states have.
var duckTypes = map[catalog.Type]string{
	catalog.String: "VARCHAR", catalog.Int64: "BIGINT", catalog.Double: "DOUBLE", catalog.Day: "DATE", catalog.Month: "DATE", catalog.Hour: "TIMESTAMP",
}

// untold is what a table of states has before anything was told: its columns, and no rows.
func untold(kind string) string {
	var columns []string
	for _, c := range state.Columns(kind) {
		columns = append(columns, fmt.Sprintf("CAST(NULL AS %s) AS %s", duckTypes[c.Type], duckQuote(c.Name)))
	}
	return "SELECT\n  " + strings.Join(columns, ",\n  ") + "\nWHERE false"
}

// duckQuote is a name in DuckDB's SQL.
func duckQuote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
