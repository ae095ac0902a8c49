package pgsink

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// replace replaces all rows of the partition by those of the part, and returns the fingerprint in
// the part's file.
func (s *Sink) replace(ctx context.Context, tx pgx.Tx, call *putCall) (fingerprint string, err error) {
	file, err := openPart(ctx, call)
	if err != nil {
		return "", err
	}
	defer file.stop() //nolint:errcheck // copy has returned its error already
	if call.part.Schema.Partitioned {
		err = s.swap(ctx, tx, call, file)
	} else {
		_, err = tx.Exec(ctx, "DELETE FROM "+s.named(call.at.table)+" WHERE "+call.at.condition(call.part.Schema.On))
		if err == nil {
			err = s.copy(ctx, tx, call, call.at.table, "", file)
		}
	}
	return file.fingerprint, err
}

// copy streams the file's rows into a table by COPY, and compares their number with the part's.
// more is added to the options of COPY.
func (s *Sink) copy(ctx context.Context, tx pgx.Tx, call *putCall, table, more string, file *source) error {
	sql := fmt.Sprintf("COPY %s (%s) FROM STDIN (FORMAT binary%s)", s.named(table), names(file.columns), more)
	done, err := tx.Conn().PgConn().CopyFrom(ctx, file, sql)
	closed := file.stop()
	switch {
	case file.err != nil: // the server would only repeat it in its own words
		return file.err
	case err != nil:
		return fmt.Errorf("copy the rows: %w", err)
	case closed != nil:
		return fmt.Errorf("%w: %w", errSource, closed)
	case done.RowsAffected() != call.part.Rows:
		return fmt.Errorf("%w: its file has %d rows, and the part should have %d", errSource, done.RowsAffected(),
			call.part.Rows)
	}
	return nil
}

// swap fills a new child table, and replaces the old one by it. Nothing of the table is locked
// before the last statements, so that readers wait only for milliseconds.
//
// The rows are frozen by COPY (https://www.postgresql.org/docs/current/sql-copy.html), so that
// every transaction that sees the child sees them. A transaction that began before the swap and
// first reads the table after it would otherwise find neither the old rows, whose table is gone,
// nor the new ones, which are younger than its snapshot.
func (s *Sink) swap(ctx context.Context, tx pgx.Tx, call *putCall, file *source) error {
	table, on := s.named(call.at.table), call.part.Schema.On
	have, err := s.tableInfo(ctx, tx, call.at.table)
	if err != nil {
		return err
	}
	// Make the new child, fill it and index it.
	fresh := fmt.Sprintf("_reportferry_new_%x", uint64(s.lockID(call.at.child())))
	if err := execAll(ctx, tx, s.childStatements(fresh, have, call)); err != nil {
		return fmt.Errorf("make the new partition: %w", err)
	}
	if err := s.copy(ctx, tx, call, fresh, ", FREEZE", file); err != nil {
		return err
	}
	var statements []string
	for _, columns := range indexes(call.part.Schema) {
		statements = append(statements, s.indexStatement(fresh, columns))
	}
	if err := execAll(ctx, tx, statements); err != nil {
		return fmt.Errorf("index the new partition: %w", err)
	}
	// Detach and drop the old child, if there is one, and attach the new one in its place.
	if err := s.lockDefinition(ctx, tx, call.at.table); err != nil {
		return err
	}
	old, err := s.exists(ctx, tx, call.at.child())
	if err != nil {
		return err
	}
	statements = nil
	if old {
		if err := s.lockExclusively(ctx, tx, call.at.table); err != nil {
			return err
		}
		statements = append(statements, "ALTER TABLE "+table+" DETACH PARTITION "+s.named(call.at.child()),
			"DROP TABLE "+s.named(call.at.child()))
	}
	statements = append(statements,
		"ALTER TABLE "+s.named(fresh)+" RENAME TO "+quote(call.at.child()),
		fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM ('%s') TO ('%s')", table,
			s.named(call.at.child()), call.at.first, call.at.end),
		"ALTER TABLE "+s.named(call.at.child())+" DROP CONSTRAINT reportferry_bounds",
	)
	if err := execAll(ctx, tx, statements); err != nil {
		return fmt.Errorf("swap the partition %s of %s: %w", call.at.child(), quote(on), err)
	}
	return nil
}

// childStatements returns the statements that make a table like the one whose partition it will be.
// LIKE isn't used, because it would lock that table against other swaps while the rows are copied.
// The constraint saves a scan of all rows when the child is attached.
func (s *Sink) childStatements(name string, like tableInfo, call *putCall) []string {
	made := "CREATE TABLE " + s.named(name) + " ("
	for _, c := range like.columns {
		made += definition(c.name, c.sqlType, c.required) + ", "
	}
	on := call.part.Schema.On
	made += fmt.Sprintf("CONSTRAINT reportferry_bounds CHECK (%s IS NOT NULL AND %s))", quote(on),
		call.at.condition(on))
	return []string{made}
}
