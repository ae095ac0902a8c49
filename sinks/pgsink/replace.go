package pgsink

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// replace replaces all rows of the partition by those of the part, and returns the fingerprint in
// the part's file.
func (s *Sink) replace(ctx context.Context, tx pgx.Tx, w *putting) (fingerprint string, err error) {
	file, err := openPart(ctx, w)
	if err != nil {
		return "", err
	}
	defer file.stop() //nolint:errcheck // copy has returned its error already
	if w.part.Schema.Partitioned {
		err = s.swap(ctx, tx, w, file)
	} else {
		_, err = tx.Exec(ctx, "DELETE FROM "+s.named(w.at.table)+" WHERE "+w.at.within(w.part.Schema.On))
		if err == nil {
			err = s.copy(ctx, tx, w, w.at.table, "", file)
		}
	}
	return file.fingerprint, err
}

// copy streams the file's rows into a table, and compares their number with the part's.
func (s *Sink) copy(ctx context.Context, tx pgx.Tx, w *putting, table, more string, file *source) error {
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
	case done.RowsAffected() != w.part.Rows:
		return fmt.Errorf("%w: its file has %d rows, and the part should have %d", errSource, done.RowsAffected(),
			w.part.Rows)
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
func (s *Sink) swap(ctx context.Context, tx pgx.Tx, w *putting, file *source) error {
	table, on := s.named(w.at.table), w.part.Schema.On
	have, err := s.facts(ctx, tx, w.at.table)
	if err != nil {
		return err
	}
	fresh := fmt.Sprintf("_reportferry_new_%x", uint64(s.lockID(w.at.child())))
	if err := run(ctx, tx, s.child(fresh, have, w)); err != nil {
		return fmt.Errorf("make the new partition: %w", err)
	}
	if err := s.copy(ctx, tx, w, fresh, ", FREEZE", file); err != nil {
		return err
	}
	var statements []string
	for _, columns := range indexes(w.part.Schema) {
		statements = append(statements, s.index(fresh, columns))
	}
	if err := run(ctx, tx, statements); err != nil {
		return fmt.Errorf("index the new partition: %w", err)
	}
	if err := s.takeTable(ctx, tx, w.at.table); err != nil {
		return err
	}
	old, err := s.exists(ctx, tx, w.at.child())
	if err != nil {
		return err
	}
	statements = nil
	if old {
		if err := s.exclusively(ctx, tx, w.at.table); err != nil {
			return err
		}
		statements = append(statements, "ALTER TABLE "+table+" DETACH PARTITION "+s.named(w.at.child()),
			"DROP TABLE "+s.named(w.at.child()))
	}
	statements = append(statements,
		"ALTER TABLE "+s.named(fresh)+" RENAME TO "+quote(w.at.child()),
		fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM ('%s') TO ('%s')", table, s.named(w.at.child()),
			w.at.first, w.at.end),
		"ALTER TABLE "+s.named(w.at.child())+" DROP CONSTRAINT reportferry_bounds",
	)
	if err := run(ctx, tx, statements); err != nil {
		return fmt.Errorf("swap the partition %s of %s: %w", w.at.child(), quote(on), err)
	}
	return nil
}

// child returns the statements that make a table like the one whose partition it will be. LIKE
// isn't used, because it would lock that table against other swaps while the rows are copied. The
// constraint saves a scan of all rows when the child is attached.
func (s *Sink) child(name string, like facts, w *putting) []string {
	made := "CREATE TABLE " + s.named(name) + " ("
	for _, c := range like.columns {
		made += definition(c.name, c.of, c.required) + ", "
	}
	on := w.part.Schema.On
	made += fmt.Sprintf("CONSTRAINT reportferry_bounds CHECK (%s IS NOT NULL AND %s))", quote(on), w.at.within(on))
	return []string{made}
}
