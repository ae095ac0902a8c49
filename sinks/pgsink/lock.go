package pgsink

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// lockPatience is how long a put waits for another transaction on its partition, and lockPoll is
// how often it tries.
const (
	lockPatience = 10 * time.Second
	lockPoll     = 50 * time.Millisecond
)

// lock takes the partition's advisory lock until the transaction ends
// (https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS). Only the holder
// of the ledger's lease of the partition may put it. So another transaction that has the lock
// belongs to a put that has lost its lease: it is about to end, or its process hangs. After
// lockPatience it is ended, so that it can't commit after this one.
func (s *Sink) lock(ctx context.Context, tx pgx.Tx, at place) error {
	id := s.lockID(at.table, at.first.String())
	for deadline := time.Now().Add(lockPatience); ; {
		var taken bool
		if err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", id).Scan(&taken); err != nil || taken {
			return err
		}
		if time.Now().After(deadline) {
			if err := s.endHolder(ctx, tx, id); err != nil {
				return fmt.Errorf("another transaction has had the partition for %s, and can't be ended: %w",
					lockPatience, err)
			}
			deadline = time.Now().Add(lockPatience)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// endHolder ends the connection that has the lock, and so its transaction.
func (s *Sink) endHolder(ctx context.Context, tx pgx.Tx, id int64) error {
	_, err := tx.Exec(ctx,
		`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND ((classid::bigint << 32) | objid::bigint) = $1`, id)
	return err
}

// lockDefinition takes the lock for changes of a table's definition until the transaction ends. A
// transaction takes it before it locks anything of the table, so that there is no deadlock.
func (s *Sink) lockDefinition(ctx context.Context, tx pgx.Tx, table string) error {
	_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", s.lockID(table))
	return err
}

// exclusiveWait bounds one wait for the exclusive lock on a table, during which every new query of
// the table waits too. exclusivePatience bounds all these waits together: a session that uses the
// table for longer was probably forgotten.
const (
	exclusiveWait     = 2 * time.Second
	exclusivePatience = 10 * time.Minute
)

// lockExclusively takes the exclusive lock on a table without blocking others for long. It waits
// for a short while, lets the queries that have queued up behind it go on, and tries again.
func (s *Sink) lockExclusively(ctx context.Context, tx pgx.Tx, table string) error {
	for end := time.Now().Add(exclusivePatience); ; {
		err := pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error {
			return execAll(ctx, inner, []string{
				fmt.Sprintf("SET LOCAL lock_timeout = %d", exclusiveWait.Milliseconds()),
				"LOCK TABLE " + s.named(table) + " IN ACCESS EXCLUSIVE MODE",
				"SET LOCAL lock_timeout = 0",
			})
		})
		if sqlState(err) != lockNotAvailable {
			return err
		}
		if time.Now().After(end) { // not wrapped, so that repeat doesn't begin again, which wouldn't help
			return fmt.Errorf("other sessions have used the table without a break for %s; pg_stat_activity shows "+
				"those that have an open "+
				"transaction, and pg_terminate_backend ends one: %s", exclusivePatience, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w, while other sessions use the table: %w", ctx.Err(), err)
		case <-time.After(exclusiveWait):
		}
	}
}
