package pgsink

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/reportferry/reportferry/sinks"
)

// typeNames are the column types as format_type of Postgres writes them
// (https://www.postgresql.org/docs/current/datatype.html).
var typeNames = map[sinks.ColumnType]string{
	sinks.String: "text", sinks.Date: "date", sinks.DateTime: "timestamp without time zone",
	sinks.Instant: "timestamp with time zone",
	sinks.Int64:   "bigint", sinks.Decimal: "numeric(18,6)", sinks.Double: "double precision",
}

// LongestName is how many bytes a name may have. Postgres cuts longer ones without an error, so
// that two names may become one
// (https://www.postgresql.org/docs/current/sql-syntax-lexical.html#SQL-SYNTAX-IDENTIFIERS).
const LongestName = 63

// TypeName returns the name of a column type in Postgres; "" if there is none.
func TypeName(t sinks.ColumnType) string { return typeNames[t] }

// systemColumns exist in each table, and no other column may have one of these names
// (https://www.postgresql.org/docs/current/ddl-system-columns.html).
var systemColumns = []string{"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}

// Fits returns an error for a table that Postgres would refuse later with a less helpful message,
// or change silently.
func (*Sink) Fits(table string, schema *sinks.Schema) error {
	return checkSchema(place{table: tableName(table)}, schema)
}

// checkSchema returns an error if the names, types or indexes of a table don't fit Postgres.
func checkSchema(at place, schema *sinks.Schema) error {
	if len(at.table) > LongestName {
		return fmt.Errorf("a name has at most %d bytes in Postgres, and %s has %d; give the job a shorter table",
			LongestName, at.table, len(at.table))
	}
	if schema.Partitioned && len(at.child()) > LongestName {
		return fmt.Errorf("the name of a partition, %s, is longer than the %d bytes of a name in Postgres; give the "+
			"job a shorter table", at.child(), LongestName)
	}
	has, err := schema.Check()
	if err != nil {
		return err
	}
	for _, c := range schema.Columns {
		switch {
		case typeNames[c.Type] == "":
			return fmt.Errorf("column %s: unknown type %q", c.Name, c.Type)
		case len(c.Name) > LongestName:
			return fmt.Errorf("column %s: Postgres takes names of at most %d bytes, and this one has %d; give it "+
				"another name, which as: does for an event, or leave it out",
				c.Name, LongestName, len(c.Name))
		case slices.Contains(systemColumns, c.Name):
			return fmt.Errorf("column %s: Postgres has a column of that name in each table; give it another name, "+
				"which as: does for an event, or leave it out", c.Name)
		}
	}
	for _, columns := range schema.Indexes {
		for _, name := range columns {
			if has[name] == "" {
				return fmt.Errorf("the table should have an index on %s, which isn't one of its columns", name)
			}
		}
	}
	if schema.Period == "whole" && schema.Partitioned {
		return errors.New("partitioned is for a table with periods, and this one has none")
	}
	return nil
}

// indexes returns the indexes that the table needs: those of the config, and one by date, because
// each put deletes by it. A table with a child for each partition needs no index by date.
func indexes(schema *sinks.Schema) [][]string {
	wanted := slices.Clone(schema.Indexes)
	byDate := func(columns []string) bool { return columns[0] == schema.On }
	if schema.On != "" && !schema.Partitioned && !slices.ContainsFunc(wanted, byDate) {
		wanted = append(wanted, []string{schema.On})
	}
	return wanted
}

// createStatements returns the statements that make a table.
func (s *Sink) createStatements(name string, schema *sinks.Schema) []string {
	var columns []string
	for _, c := range schema.Columns {
		columns = append(columns, definition(c.Name, typeNames[c.Type], c.Required))
	}
	made := "CREATE TABLE " + s.named(name) + " (" + strings.Join(columns, ", ") + ")"
	if schema.Partitioned {
		made += " PARTITION BY RANGE (" + quote(schema.On) + ")"
	}
	statements := []string{made}
	if schema.About != nil && schema.About.Text != "" {
		statements = append(statements, "COMMENT ON TABLE "+s.named(name)+" IS "+literal(schema.About.Text))
	}
	for _, c := range schema.Columns {
		statements = append(statements, s.commentStatements(name, c)...)
	}
	for _, columns := range indexes(schema) {
		statements = append(statements, s.indexStatement(name, columns))
	}
	return statements
}

// definition returns the definition of a column with this SQL type.
func definition(name, of string, required bool) string {
	if required {
		of += " NOT NULL"
	}
	return quote(name) + " " + of
}

// commentStatements returns the statement that describes a column, if it has a description.
func (s *Sink) commentStatements(table string, c sinks.Column) []string {
	if c.Text() == "" {
		return nil
	}
	return []string{"COMMENT ON COLUMN " + s.named(table) + "." + quote(c.Name) + " IS " + literal(c.Text())}
}

// indexStatement returns the statement that makes an index.
func (s *Sink) indexStatement(table string, columns []string) string {
	return "CREATE INDEX ON " + s.named(table) + " (" + names(columns) + ")"
}

// Named returns the quoted name, with its schema, of a job's table, of one that describes it, or of
// a view.
func (s *Sink) Named(table string) string { return s.named(tableName(table)) }

// named returns the quoted name of a table with its schema.
func (s *Sink) named(table string) string { return pgx.Identifier{s.schema, table}.Sanitize() }

// quote returns a name as a quoted identifier.
func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// names returns the quoted names of columns, separated by commas.
func names(columns []string) string {
	var quoted []string
	for _, c := range columns {
		quoted = append(quoted, quote(c))
	}
	return strings.Join(quoted, ", ")
}

// literal returns a text as an SQL literal, because statements that define something take no
// parameters.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
