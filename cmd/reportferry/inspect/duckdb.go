package inspect

import (
	"fmt"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/after"
	"github.com/reportferry/reportferry/jobs/state"
	"github.com/reportferry/reportferry/sinks"
)

// lake is a sink whose tables are files, which readers find by a pattern.
type lake interface{ Pattern(table string) string }

// A view is a name and a query in the SQL of the place that it is for.
type view struct{ name, query string }

// duckViews are the views of a bucket's files for DuckDB, in its SQL: the table, its final rows, and what all tables tell. A view
// is made of files that are there, so those come last that may lack some.
func duckViews(at lake, table string, s *sinks.Schema, told []string) []view {
	views := []view{{duckQuote(table), "SELECT * FROM " + after.Scan(at.Pattern(table), true)}}
	for _, kind := range told {
		views = append(views, view{duckQuote(kind), "SELECT * FROM " + after.Scan(at.Pattern(sinks.Derived(kind, "*")), false)})
		if kind != state.Partitions {
			continue
		}
		final := fmt.Sprintf("SELECT partition_date FROM %s WHERE table_name = %s AND state = 'final'", duckQuote(kind), after.Text(table))
		where := "EXISTS (" + final + ")" // the table has no periods
		if s.On != "" {
			where = fmt.Sprintf("CAST(%s AS DATE) IN (%s)", duckQuote(s.On), final)
		}
		views = append(views, view{duckQuote(table + "_final"), "SELECT * FROM " + duckQuote(table) + "\nWHERE " + where})
	}
	return views
}

// duckQuote is a name in DuckDB's SQL.
func duckQuote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
