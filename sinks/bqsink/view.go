package bqsink

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	bq "google.golang.org/api/bigquery/v2"

	"github.com/reportferry/reportferry/internal/formula"
)

// A View is what dashboards read of a table: its metrics summed, with ratios computed from the sums.
type View struct {
	Table  string
	On     string   // the date column, kept; empty when the table has none
	By     []string // dimensions that are kept
	Sums   []string // columns that are summed
	Ratios []Ratio

	Freshness bool // instead: how fresh every table of the dataset is; Table and the rest don't matter
}

// A Ratio is a column computed from sums: its formula has names of Sums, numbers, + - * / ( ) and abs( ).
type Ratio struct{ Name, Formula string }

// freshnessView is the view of how fresh every table is.
const freshnessView = "_reportferry_freshness"

// View returns a view's full name and its query in BigQuery's SQL (https://cloud.google.com/bigquery/docs/reference/standard-sql/query-syntax).
func (s *Sink) View(v View) (name, query string, err error) {
	prefix := s.project + "." + s.dataset + "."
	if v.Freshness {
		return prefix + freshnessView, fmt.Sprintf(freshnessSQL, prefix), nil
	}
	query, kept, err := v.Query(dialect, quote(prefix+v.Table))
	return prefix + strings.Join(append([]string{v.Table, "by"}, kept...), "_"), query, err
}

// Query is the view's query in a dialect, from a table of any name, and the columns that it keeps.
func (v View) Query(d formula.Dialect, from string) (query string, kept []string, err error) {
	kept = slices.Clone(v.By)
	if v.On != "" {
		kept = append([]string{v.On}, kept...)
	}
	var groups []string
	for _, c := range kept {
		groups = append(groups, d.Quote(c))
	}
	columns := slices.Clone(groups)
	for _, c := range v.Sums {
		columns = append(columns, "SUM("+d.Quote(c)+") AS "+d.Quote(c))
	}
	for _, r := range v.Ratios {
		sql, err := formula.SQL(r.Formula, d)
		if err != nil {
			return "", nil, fmt.Errorf("write the view of %s: column %s: %w", v.Table, r.Name, err)
		}
		columns = append(columns, sql+" AS "+d.Quote(r.Name))
	}
	query = "SELECT\n  " + strings.Join(columns, ",\n  ") + "\nFROM " + from
	if len(groups) > 0 {
		query += "\nGROUP BY " + strings.Join(groups, ", ")
	}
	return query, kept, nil
}

// freshnessSQL reads what BigQuery itself knows of every table's partitions
// (https://cloud.google.com/bigquery/docs/information-schema-partitions).
const freshnessSQL = `SELECT
  table_name,
  MAX(IF(total_rows > 0, partition_id, NULL)) AS last_period,
  SUM(total_rows) AS row_count,
  MAX(last_modified_time) AS last_load,
  TIMESTAMP_DIFF(CURRENT_TIMESTAMP(), MAX(last_modified_time), MINUTE) AS age_minutes,
  IF(SUM(total_rows) > 0, 'filled', 'empty') AS state
FROM ` + "`%sINFORMATION_SCHEMA.PARTITIONS`" + `
WHERE SUBSTR(table_name, 1, 1) != '_'
GROUP BY table_name`

func quote(name string) string { return "`" + name + "`" }

var dialect = formula.Dialect{Quote: quote, Divide: func(left, right string) string { return "SAFE_DIVIDE(CAST(" + left + " AS FLOAT64), " + right + ")" }}

// SaveView makes the view, or replaces its query.
func (s *Sink) SaveView(ctx context.Context, name, query string) error {
	view := name[strings.LastIndexByte(name, '.')+1:]
	definition := &bq.ViewDefinition{Query: query, ForceSendFields: []string{"UseLegacySql"}} // which is true where it isn't sent
	err := repeat(ctx, func() error {
		return s.insertTable(ctx, view, &bq.Table{View: definition, Description: "Made by reportferry views"})
	})
	if hasStatus(err, http.StatusConflict) {
		if have, failed := s.getTable(ctx, view); failed == nil && have.Type == regularTable {
			return fmt.Errorf("save view %s: a table of that name is there, which a view can't replace; drop it, if it is one that "+
				"earlier versions kept for audit", name)
		}
		err = repeat(ctx, func() error {
			_, err := s.client.Tables.Patch(s.project, s.dataset, view, &bq.Table{View: definition}).Context(ctx).Do()
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("save view %s: %w", name, s.explain(err))
	}
	return nil
}
