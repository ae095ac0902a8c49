// Package pgsink keeps tables in Postgres and replaces them a partition at a time. Without it a
// team whose warehouse is a Postgres would load files by hand: twice, half, or in the wrong order.
//
// Put takes a part, which is one Parquet file, and does all of it in one transaction:
//
//	lock the partition ─ what was loaded last is what the part may replace ─ table, created or widened
//	   └─ DELETE and COPY, or a new child by COPY, swapped in ─ the row of _reportferry_loads ─ COMMIT
//
// So readers see all the old rows or all the new ones, and the row of _reportferry_loads says
// which: its version is new with each put, and goes into the receipt. When the answer to COMMIT is
// lost, the lock is taken again, which waits for whatever is left of the lost transaction, and the
// row tells how it ended. A put that comes late finds another version than the one it may replace,
// and changes nothing.
//
// All calls go through github.com/jackc/pgx/v5. Names are always quoted and have their schema, so
// that no search path matters, and no statement outlives its transaction, so that a pooler in
// transaction mode may stand between.
package pgsink

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/reportferry/reportferry/sinks"
)

// mostConnections bounds the connections of one process to the server. A Postgres takes 100 in all
// by default (max_connections).
const mostConnections = 4

// A Sink is one schema of a database. It is safe for concurrent use.
type Sink struct {
	target
	pool *pgxpool.Pool
}

// Open opens the schema that a URL names:
//
//	postgres://user@host:5432/database/schema?sslmode=verify-full&sslrootcert=ca.pem
//
// Without a schema it is public. The parameters sslcert and sslkey name a client's certificate, and
// host=/folder a Unix socket. The password is taken from the URL, from PGPASSWORD or from the file
// that PGPASSFILE names. Connections to other machines are always encrypted: sslmode is at least
// require, which is also the default. Open doesn't connect.
func Open(ctx context.Context, rawURL string) (sinks.Sink, error) {
	t, config, err := parseURL(rawURL)
	if err != nil {
		return nil, fmt.Errorf("open sink %s: %w", sinks.Redact(rawURL), err)
	}
	config.MaxConns = mostConnections
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open sink %s: %w", t.url, err)
	}
	return &Sink{target: t, pool: pool}, nil
}

// Store names the server, the database and the schema.
func (s *Sink) Store() string { return s.store }

// NoNUL makes Sink a sinks.NoNUL, because no text in Postgres can contain U+0000.
func (s *Sink) NoNUL() {}

// Close closes the connections.
func (s *Sink) Close() error {
	s.pool.Close()
	return nil
}
