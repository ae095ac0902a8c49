package pgsink

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// errProbed rolls back the transaction of a successful probe.
var errProbed = errors.New("all of it works")

// Probe tries what Put needs and leaves nothing behind. In a transaction that is rolled back, it
// makes the schema if there is none, and a table, writes a row, finds and deletes it, and changes
// the table. If the table of loads exists, it must be writable too.
func (s *Sink) Probe(ctx context.Context) error {
	err := s.inTransaction(ctx, func(tx pgx.Tx) error {
		// Of two probes that make the schema at the same time, the second waits.
		if err := s.lockDefinition(ctx, tx, loadsTable); err != nil {
			return err
		}
		if err := s.makeSchema(ctx, tx); err != nil {
			return err
		}
		probe := s.named("_reportferry_probe")
		statements := []string{
			"CREATE TABLE " + probe + " (probe text)", "INSERT INTO " + probe + " VALUES ('written')",
			"DELETE FROM " + probe + " WHERE probe = 'written'", "ALTER TABLE " + probe + " ADD COLUMN more text",
		}
		there, err := s.exists(ctx, tx, loadsTable)
		if err != nil {
			return err
		}
		if there {
			statements = append(statements, "DELETE FROM "+s.named(loadsTable)+" WHERE false",
				"UPDATE "+s.named(loadsTable)+" SET run = run WHERE false")
		}
		if err := execAll(ctx, tx, statements); err != nil {
			return err
		}
		return errProbed
	})
	if errors.Is(err, errProbed) {
		return nil
	}
	return fmt.Errorf("probe %s: %w", s.url, s.explain(err))
}
