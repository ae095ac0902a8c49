package pgsink

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/reportferry/reportferry/sinks"
)

// tableInfo is what Postgres says of a table.
type tableInfo struct {
	kind         string // pg_class.relkind: r is a table, p one with partitions; empty if there is no such table
	partitionKey string // the partition key, as in RANGE (day)
	ours         bool   // this program has put rows into it
	columns      []column
	indexes      [][]string // the columns of each index that covers all rows
}

// A column is a column of an existing table.
type column struct {
	name, sqlType string
	required      bool // NOT NULL
	hasDefault    bool // it has a default, or is computed
}

// tableInfo asks Postgres for a table's kind, columns and indexes, and whether it is one of ours.
func (s *Sink) tableInfo(ctx context.Context, db querier, table string) (f tableInfo, err error) {
	var oid uint32
	err = db.QueryRow(ctx, "SELECT oid, relkind::text, coalesce(pg_get_partkeydef(oid), '') FROM pg_class WHERE oid "+
		"= to_regclass($1)",
		s.named(table)).Scan(&oid, &f.kind, &f.partitionKey)
	if errors.Is(err, pgx.ErrNoRows) {
		return tableInfo{}, nil
	}
	if err != nil {
		return f, err
	}
	if known, err := s.exists(ctx, db, loadsTable); err != nil {
		return f, err
	} else if known {
		if err := db.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+s.named(loadsTable)+" WHERE table_name = $1)",
			table).Scan(&f.ours); err != nil {
			return f, err
		}
	}
	rows, err := db.Query(ctx,
		`SELECT attname::text, format_type(atttypid, atttypmod), attnotnull, atthasdef OR attidentity <> ''
		FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, oid)
	if err != nil {
		return f, err
	}
	var c column
	if _, err = pgx.ForEachRow(rows, []any{&c.name, &c.sqlType, &c.required, &c.hasDefault}, func() error {
		f.columns = append(f.columns, c)
		return nil
	}); err != nil {
		return f, err
	}
	rows, err = db.Query(ctx, `SELECT array_agg(attname::text ORDER BY place) FROM pg_index
		CROSS JOIN unnest(indkey) WITH ORDINALITY AS key (number, place) JOIN pg_attribute ON attrelid = indrelid AND attnum = number
		WHERE indrelid = $1 AND indpred IS NULL GROUP BY indexrelid`, oid)
	if err != nil {
		return f, err
	}
	f.indexes, err = pgx.CollectRows(rows, pgx.RowTo[[]string])
	return f, err
}

// ensure makes the table, or adds the columns and indexes that it lacks. A table that can't be
// changed to fit the schema is an error.
func (s *Sink) ensure(ctx context.Context, tx pgx.Tx, table string, schema *sinks.Schema) error {
	have, err := s.tableInfo(ctx, tx, table)
	if err != nil {
		return err
	}
	changes, err := s.changes(table, have, schema)
	if err != nil || len(changes) == 0 {
		return err
	}
	if err := s.lockDefinition(ctx, tx, table); err != nil {
		return err
	}
	if have, err = s.tableInfo(ctx, tx, table); err != nil { // another put may have made the changes
		return err
	}
	if changes, err = s.changes(table, have, schema); err != nil || len(changes) == 0 {
		return err
	}
	if have.kind == "" {
		if err := s.makeSchema(ctx, tx); err != nil {
			return err
		}
		// Records of loads of a dropped table mean nothing for the new one.
		if _, err := tx.Exec(ctx, "DELETE FROM "+s.named(loadsTable)+" WHERE table_name = $1", table); err != nil {
			return err
		}
	} else if err := s.lockExclusively(ctx, tx, table); err != nil {
		return fmt.Errorf("change the table: %w", err)
	}
	if err := execAll(ctx, tx, changes); err != nil {
		return fmt.Errorf("change the table: %w", err)
	}
	return nil
}

// changes returns the statements that change a table to fit a schema.
func (s *Sink) changes(table string, have tableInfo, schema *sinks.Schema) ([]string, error) {
	if have.kind == "" {
		return s.createStatements(table, schema), nil
	}
	missing, err := compare(table, have, schema)
	if err != nil {
		return nil, err
	}
	var statements []string
	for _, c := range missing { // never NOT NULL: rows that exist have no value for it
		statements = append(statements, "ALTER TABLE "+s.named(table)+" ADD COLUMN "+definition(c.Name,
			typeNames[c.Type], false))
		statements = append(statements, s.commentStatements(table, c)...)
	}
	for _, wanted := range indexes(schema) {
		if !slices.ContainsFunc(have.indexes, func(columns []string) bool { return slices.Equal(columns, wanted) }) {
			statements = append(statements, s.indexStatement(table, wanted))
		}
	}
	return statements, nil
}

// makeSchema makes the schema if it doesn't exist.
func (s *Sink) makeSchema(ctx context.Context, tx pgx.Tx) error {
	there, err := s.mayCreate(ctx, tx)
	if err != nil || there {
		return err
	}
	return execAll(ctx, tx, []string{"CREATE SCHEMA IF NOT EXISTS " + quote(s.schema)})
}

// mayCreate reports whether the schema exists. It returns an error, clearer than that of Postgres,
// if the role may not make tables in the schema, or may not make the missing schema.
func (s *Sink) mayCreate(ctx context.Context, db querier) (there bool, err error) {
	var may bool
	var role, database string
	err = db.QueryRow(ctx,
		`SELECT to_regnamespace($1) IS NOT NULL, CASE WHEN to_regnamespace($1) IS NULL THEN has_database_privilege(current_database(), 'CREATE')
		ELSE has_schema_privilege(to_regnamespace($1), 'USAGE') AND has_schema_privilege(to_regnamespace($1), 'CREATE') END,
		current_user::text, current_database()::text`, quote(s.schema)).Scan(&there, &may, &role, &database)
	switch {
	case err != nil || may:
		return there, err
	case !there:
		return there, &sinks.Refusal{Denied: true,
			Text: fmt.Sprintf("the schema %s doesn't exist, and the role %s may not make it; "+
				"CREATE SCHEMA %s AUTHORIZATION %s makes it, and GRANT CREATE ON DATABASE %s TO %s allows the role to",
				s.schema, role, quote(s.schema), quote(role), quote(database), quote(role))}
	}
	return there, &sinks.Refusal{Denied: true,
		Text: fmt.Sprintf("the role %s may not make tables in the schema %s; GRANT USAGE, CREATE ON SCHEMA %s TO %s "+
			"allows it",
			role, s.schema, quote(s.schema), quote(role))}
}
