package pgsink

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reportferry/reportferry/sinks"
)

// Put makes the part the whole content of its partition. After an error the old rows are still
// there, unless the error says that the outcome is unknown. Repeating a Put is harmless in every
// case.
func (s *Sink) Put(ctx context.Context, p sinks.Part) (sinks.Receipt, error) {
	at, err := locate(p)
	var l load
	if err == nil {
		call := &putCall{at: at, part: p}
		l, err = s.put(ctx, call)
	}
	if err != nil {
		return sinks.Receipt{}, fmt.Errorf("put %s/dt=%s to %s: %w", tableName(p.Table), p.Partition, s.url,
			s.explain(err))
	}
	return sinks.Receipt{Sink: s.url, Key: at.key(), Size: p.Size, Version: l.version()}, nil
}

// A putCall is one call of Put. If a transaction fails for a temporary reason, another one follows
// within the same call.
type putCall struct {
	at   place
	part sinks.Part

	overKnown bool   // over has been determined
	over      string // the version that the put may replace; empty if the partition must have none

	// sent has the loads whose COMMIT was sent and not answered. Each may have taken effect or not.
	sent []load
}

// abandonTime bounds the work after the context of a Put has ended, because a process that gets
// SIGTERM has only 10 s.
const abandonTime = 5 * time.Second

// put repeats attempts and, if the outcome of a COMMIT is unknown at the end, looks it up.
func (s *Sink) put(ctx context.Context, call *putCall) (l load, err error) {
	// The part's condition says what may be replaced. Without one, the first attempt finds it out.
	switch over := call.part.Over; {
	case over.Absent:
		call.overKnown = true
	case over.Version != "":
		call.overKnown, call.over = true, over.Version
	}
	err = s.repeat(ctx, func() (err error) {
		l, err = s.attempt(ctx, call)
		return err
	})
	if err == nil || len(call.sent) == 0 {
		return l, err
	}
	// Whatever failed after a COMMIT was sent, the outcome of that COMMIT is still unknown here.
	ended, stop := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer stop()
	var now load
	unknown := s.inTransaction(ended, func(tx pgx.Tx) (err error) {
		if err := s.lock(ended, tx, call.at); err != nil {
			return err
		}
		now, err = s.lastLoad(ended, tx, call.at)
		return err
	})
	switch {
	case unknown != nil:
		return load{}, fmt.Errorf("%w; whether the rows were committed before that is unknown (asked again: %w): "+
			"the partition holds "+
			"the old rows or the new ones, whole; repeat the put", err, s.explain(unknown))
	case slices.Contains(call.sent, now):
		return now, nil
	}
	return load{}, err
}

// attempt tries the put in one transaction.
func (s *Sink) attempt(ctx context.Context, call *putCall) (l load, err error) {
	if err := ctx.Err(); err != nil {
		return l, err
	}
	if err := s.makeLoads(ctx); err != nil {
		return l, err
	}
	if !call.overKnown { // the version when the put begins, and not a later one from the wait for the lock
		now, err := s.lastLoad(ctx, s.pool, call.at)
		if err != nil {
			return l, err
		}
		call.overKnown, call.over = true, now.version()
	}
	fresh := load{token: rand.Text()}
	commits := false
	// Lock the partition, check what it holds, replace it, and record the load: in one transaction.
	err = s.inTransaction(ctx, func(tx pgx.Tx) error {
		if err := s.lock(ctx, tx, call.at); err != nil {
			return err
		}
		now, err := s.lastLoad(ctx, tx, call.at)
		if err != nil {
			return err
		}
		if slices.Contains(call.sent, now) { // an earlier attempt has succeeded, and its answer was lost
			fresh = now
			return nil
		}
		call.sent = nil // none of them has taken effect, and none can any more
		if now.version() != call.over {
			return conflict(call.over, now)
		}
		if err := s.ensure(ctx, tx, call.at.table, call.part.Schema); err != nil {
			return err
		}
		fresh.sequence = now.sequence + 1
		fingerprint, err := s.replace(ctx, tx, call)
		if err != nil {
			return err
		}
		if err := s.recordLoad(ctx, tx, call.at, fresh, call.part, fingerprint); err != nil {
			return err
		}
		commits = true
		return ctx.Err()
	}, func() {
		if commits {
			call.sent = append(call.sent, fresh)
		}
	})
	if err == nil {
		call.sent = nil
	}
	return fresh, err
}

// conflict returns the error when a partition doesn't hold the version that may be replaced.
func conflict(over string, now load) error {
	have, want := "nothing", "nothing"
	if now.sequence > 0 {
		have = "version " + now.version()
	}
	if over != "" {
		want = "version " + over
	}
	return fmt.Errorf("%w: %s is there, and the put may replace %s only", sinks.ErrConflict, have, want)
}

// beginQuery opens a transaction and sets what it needs.
//   - A role's or server's own limits must not end a COPY; the put has its own.
//   - A client that died silently is noticed within a minute, so that its lock is released.
//   - A commit must wait for the disk even if synchronous_commit is off, because the ledger relies
//     on it.
const beginQuery = `BEGIN;
SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = '1min';
SET LOCAL tcp_keepalives_idle = 30; SET LOCAL tcp_keepalives_interval = 10; SET LOCAL tcp_keepalives_count = 3;
SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'`

// inTransaction calls do in a transaction, and commits it. committing is called before COMMIT is
// sent. The end of the context doesn't interrupt the COMMIT, because that would leave its outcome
// unknown.
func (s *Sink) inTransaction(ctx context.Context, do func(tx pgx.Tx) error, committing ...func()) error {
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release() // a connection whose transaction isn't over is closed
	tx, err := c.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginQuery})
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		ended, stop := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
		defer stop()
		_ = tx.Rollback(ended) // the connection is closed when that fails
		return err
	}
	ended, stop := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer stop()
	for _, f := range committing {
		f()
	}
	return tx.Commit(ended)
}

// commitTime bounds the wait for the answer to COMMIT. It takes milliseconds, or as long as a
// synchronous standby needs.
const commitTime = 10 * time.Second

// makeLoads makes the table of loads if it doesn't exist.
func (s *Sink) makeLoads(ctx context.Context) error {
	there, err := s.exists(ctx, s.pool, loadsTable)
	if err != nil || there {
		return err
	}
	return s.inTransaction(ctx, func(tx pgx.Tx) error {
		if err := s.lockDefinition(ctx, tx, loadsTable); err != nil {
			return err
		}
		if err := s.makeSchema(ctx, tx); err != nil {
			return err
		}
		return execAll(ctx, tx, []string{
			"CREATE TABLE IF NOT EXISTS " + s.named(loadsTable) + " (" + loadsColumns + ")",
			"COMMENT ON TABLE " + s.named(loadsTable) + " IS " +
				literal("What reportferry put into each partition last. Don't change it: puts go by it."),
		})
	})
}

// execAll executes statements one after the other.
func execAll(ctx context.Context, tx pgx.Tx, statements []string) error {
	for _, sql := range statements {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}
