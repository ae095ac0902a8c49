// Package views writes the views that dashboards read, in the SQL of each engine that reads tables.
// Without it, the views of each engine would sum, divide and leave out what isn't final in a way of
// their own, and the same dashboard would show other numbers on Trino than on BigQuery.
//
//	Table: its date, dimensions, sums and ratios ─┐
//	Dialect: how an engine quotes and divides     ├─▶ View: a name and a query
//	Place: where its tables and its views are    ─┘
package views

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/formula"
)

// A View is a query with a name.
type View struct{ Name, Query string }

// A Place says where an engine finds the tables of jobs, and where it keeps views.
type Place struct {
	Dialect
	Table func(name string) string // how FROM names a table
	Named func(view string) string // how FROM and CREATE VIEW name a view
}

// A Table is a table whose metrics a view sums.
type Table struct {
	Name   string
	On     string   // the date column, kept; empty when the table has none
	By     []string // dimensions that are kept
	Sums   []string // columns that are summed
	Ratios []Ratio
}

// A Ratio is a column that is computed from sums. Its formula has names of Sums, numbers, + - * /
// ( ) and abs( ).
type Ratio struct{ Name, Formula string }

// A Column is a column of a state table or of a Member.
type Column struct {
	Name string
	Type catalog.Type
}

// Create returns the statement that creates a view or replaces its query.
func (p Place) Create(v View) string {
	return fmt.Sprintf("CREATE OR REPLACE VIEW %s AS\n%s;\n", p.Named(v.Name), v.Query)
}

// Summed returns the view of a table's metrics, summed by its date and the dimensions that are
// kept, with ratios that are computed from the sums. It sums the rows that the condition where
// leaves, or all if where is empty.
func (p Place) Summed(t Table, where string) (View, error) {
	name := t.Name + "_by"
	var groups []string
	keep := func(column string) {
		name += "_" + column
		groups = append(groups, p.Quote(column))
	}
	if t.On != "" {
		keep(t.On)
	}
	for _, column := range t.By {
		keep(column)
	}
	columns := groups[:len(groups):len(groups)]
	for _, c := range t.Sums {
		columns = append(columns, "SUM("+p.Quote(c)+") AS "+p.Quote(c))
	}
	for _, r := range t.Ratios {
		sql, err := formula.SQL(r.Formula, p.Dialect.Dialect)
		if err != nil {
			return View{}, fmt.Errorf("write the view of %s: column %s: %w", t.Name, r.Name, err)
		}
		columns = append(columns, sql+" AS "+p.Quote(r.Name))
	}
	query := "SELECT\n  " + strings.Join(columns, ",\n  ") + "\nFROM " + p.Table(t.Name) + where
	if len(groups) > 0 {
		query += "\nGROUP BY " + strings.Join(groups, ", ")
	}
	return View{name, query}, nil
}

// Final returns the view of a table's rows that don't change any more: those in partitions with the
// state final in the state table partitions, which may describe other tables as well.
func (p Place) Final(t Table, partitions string) View {
	where := "\nWHERE EXISTS (SELECT 1 " + from(t, partitions, "final") + ")" // for a table without periods
	if t.On != "" {
		where = p.where(t, "IN", partitions, "final")
	}
	return View{t.Name + "_final", "SELECT * FROM " + p.Table(t.Name) + where}
}

// Without returns the condition that leaves out the rows of partitions that have this state in the
// state table partitions. A table without periods has only one partition, and needs no condition.
func (p Place) Without(t Table, partitions, state string) string {
	if t.On == "" {
		return ""
	}
	return p.where(t, "NOT IN", partitions, state)
}

// where returns the condition on rows that their partition is in, or not in, those with a state.
func (p Place) where(t Table, in, partitions, state string) string {
	return fmt.Sprintf("\nWHERE CAST(%s AS DATE) %s (SELECT partition_date %s)", p.Quote(t.On), in,
		from(t, partitions, state))
}

// from returns the end of a query that reads the partitions of a table that have a state.
func from(t Table, partitions, state string) string {
	return fmt.Sprintf("FROM %s WHERE table_name = %s AND state = %s", partitions, Text(t.Name), Text(state))
}

// StateUnion returns the view called sort, the union of the state tables of one sort, named as in
// FROM. Without any tables it has the columns and no rows.
func (p Place) StateUnion(sort string, columns []Column, tables []string) View {
	var names, nothing, queries []string
	for _, c := range columns {
		names = append(names, p.Quote(c.Name))
		nothing = append(nothing, fmt.Sprintf("CAST(NULL AS %s) AS %s", p.types[c.Type], p.Quote(c.Name)))
	}
	for _, table := range tables {
		queries = append(queries, "SELECT "+strings.Join(names, ", ")+"\nFROM "+table)
	}
	if queries == nil {
		return View{sort, "SELECT\n  " + strings.Join(nothing, ",\n  ") + "\nWHERE false"}
	}
	return View{sort, strings.Join(queries, "\nUNION ALL\n")}
}

// A Member is one of the tables of a union.
type Member struct {
	Name    string // the name of its account
	Rows    string // the table as FROM has it, with a condition on its rows
	Columns []Column
}

// Union returns the view that has the rows of all members, with the member's name in its first
// column. Columns are matched by name; one that a table lacks is NULL in its rows.
func (p Place) Union(name, first string, members []Member) View {
	// All columns of the members, in the order in which they come up.
	var all []Column
	for _, m := range members {
		for _, c := range m.Columns {
			if !has(all, c.Name) {
				all = append(all, c)
			}
		}
	}
	with := "\nUNION ALL\n"
	if p.unionByName {
		with = "\nUNION ALL BY NAME\n"
	}
	// A query for each member.
	var queries []string
	for _, m := range members {
		columns := []string{Text(m.Name) + " AS " + p.Quote(first)}
		for _, c := range all {
			switch {
			case p.unionByName:
			case has(m.Columns, c.Name):
				columns = append(columns, p.Quote(c.Name))
			default:
				columns = append(columns, fmt.Sprintf("CAST(NULL AS %s) AS %s", p.types[c.Type], p.Quote(c.Name)))
			}
		}
		if p.unionByName {
			columns = append(columns, "*")
		}
		queries = append(queries, "SELECT "+strings.Join(columns, ", ")+"\nFROM "+m.Rows)
	}
	return View{name, strings.Join(queries, with)}
}

// has reports whether one of the columns has this name.
func has(columns []Column, name string) bool {
	return slices.ContainsFunc(columns, func(c Column) bool { return c.Name == name })
}

// Fresh returns the view of how fresh every table is. It reads partitions: the state table, or in
// BigQuery the list that BigQuery itself has. There it leaves out tables whose names begin with an
// underscore, or with the prefix of state tables.
func (p Place) Fresh(prefix, partitions string) View {
	if p.Name != BigQuery.Name {
		return View{prefix + "freshness", fmt.Sprintf(stateFreshness, p.ageMinutes, partitions)}
	}
	besides := ""
	if prefix[0] != '_' {
		besides = " AND NOT STARTS_WITH(table_name, " + Text(prefix) + ")"
	}
	return View{prefix + "freshness", fmt.Sprintf(bigqueryFreshness, partitions, besides)}
}

// bigqueryFreshness is the query of freshness that reads BigQuery's own list of partitions
// (https://cloud.google.com/bigquery/docs/information-schema-partitions).
const bigqueryFreshness = `SELECT
  table_name,
  MAX(IF(total_rows > 0, partition_id, NULL)) AS last_period,
  SUM(total_rows) AS row_count,
  MAX(last_modified_time) AS last_load,
  TIMESTAMP_DIFF(CURRENT_TIMESTAMP(), MAX(last_modified_time), MINUTE) AS age_minutes,
  IF(SUM(total_rows) > 0, 'filled', 'empty') AS state
FROM %s
WHERE SUBSTR(table_name, 1, 1) != '_'%s
GROUP BY table_name`

// stateFreshness is the query of freshness that reads the state table of partitions, which is
// filled from the ledger. Its times are in UTC, without a zone.
const stateFreshness = `SELECT
  table_name,
  MAX(CASE WHEN row_count > 0 THEN partition_date END) AS last_period,
  SUM(row_count) AS row_count,
  MAX(fetched) AS last_load,
  %s AS age_minutes,
  CASE WHEN SUM(row_count) > 0 THEN 'filled' ELSE 'empty' END AS state
FROM %s
GROUP BY table_name`

// Text returns a text as a literal of SQL.
func Text(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
