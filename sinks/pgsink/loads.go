package pgsink

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"cloud.google.com/go/civil"
	"github.com/jackc/pgx/v5"

	"github.com/reportferry/reportferry/sinks"
)

// loadsTable is the table that records the last load of each partition. Its rows are written in the
// same transactions as the loads.
const loadsTable = "_reportferry_loads"

// loadsColumns are the columns of loadsTable. The sequence number ascends with each put of a
// partition. The token is random, so that a put whose answer was lost recognises its own row.
const loadsColumns = `
	table_name text NOT NULL, partition_date date NOT NULL, sequence bigint NOT NULL, token text NOT NULL,
	hash text NOT NULL, rows bigint NOT NULL, bytes bigint NOT NULL, fingerprint text NOT NULL, run text NOT NULL,
	loaded_at timestamp with time zone NOT NULL DEFAULT now(), PRIMARY KEY (table_name, partition_date)`

// A querier is a connection, a transaction or the pool.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// A load identifies what was put into a partition last. The zero load means that nothing was put.
type load struct {
	sequence int64
	token    string
}

// version returns the name of a load in receipts and conditions.
func (l load) version() string {
	if l.sequence == 0 {
		return ""
	}
	return strconv.FormatInt(l.sequence, 10) + "-" + l.token
}

// exists reports whether there is a table of that name.
func (s *Sink) exists(ctx context.Context, db querier, table string) (there bool, err error) {
	err = db.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", s.named(table)).Scan(&there)
	return there, err
}

// lastLoad returns the newest load of a partition. If the table was dropped, there is none, even if
// loadsTable still has rows about it.
func (s *Sink) lastLoad(ctx context.Context, db querier, at place) (l load, err error) {
	there, err := s.exists(ctx, db, at.table)
	if err == nil && there {
		there, err = s.exists(ctx, db, loadsTable)
	}
	if err != nil || !there {
		return load{}, err
	}
	err = db.QueryRow(ctx, "SELECT sequence, token FROM "+s.named(loadsTable)+" WHERE table_name = $1 AND "+
		"partition_date = $2::date",
		at.table, at.first.String()).Scan(&l.sequence, &l.token)
	if errors.Is(err, pgx.ErrNoRows) {
		return load{}, nil
	}
	return l, err
}

// recordLoad records a load in loadsTable.
func (s *Sink) recordLoad(ctx context.Context, tx pgx.Tx, at place, l load, p sinks.Part, fingerprint string) error {
	_, err := tx.Exec(ctx, "INSERT INTO "+s.named(loadsTable)+
		" (table_name, partition_date, sequence, token, hash, rows, bytes, fingerprint, run) VALUES ($1, $2::date, "+
		"$3, $4, $5, $6, $7, $8, $9)"+
		" ON CONFLICT (table_name, partition_date) DO UPDATE SET sequence = EXCLUDED.sequence, token = "+
		"EXCLUDED.token, hash = EXCLUDED.hash,"+
		" rows = EXCLUDED.rows, bytes = EXCLUDED.bytes, fingerprint = EXCLUDED.fingerprint, run = EXCLUDED.run, "+
		"loaded_at = now()",
		at.table, at.first.String(), l.sequence, l.token, p.Hash, p.Rows, p.Size, fingerprint, p.Run)
	return err
}

// ConditionOf returns the condition that allows a put to replace what a partition holds now, and
// nothing that comes later. With own set, the table must be one that this program made; if it
// isn't, the error is sinks.ErrForeign.
func (s *Sink) ConditionOf(ctx context.Context, table string, partition civil.Date, own bool) (sinks.Condition, error) {
	at := place{table: tableName(table), first: partition}
	var c sinks.Condition
	err := s.repeat(ctx, func() error {
		l, err := s.lastLoad(ctx, s.pool, at)
		c = sinks.Condition{Version: l.version(), Absent: l.sequence == 0}
		if err != nil || !own || !c.Absent {
			return err
		}
		f, err := s.tableInfo(ctx, s.pool, at.table)
		if err == nil && f.kind != "" && !f.ours {
			return fmt.Errorf("%w: %s", sinks.ErrForeign, notOurs)
		}
		return err
	})
	if err != nil {
		return c, fmt.Errorf("look at %s/dt=%s in %s: %w", at.table, partition, s.url, s.explain(err))
	}
	return c, nil
}

// Meaning returns the fingerprint of the part that was put into a partition last, and the columns
// of the table.
func (s *Sink) Meaning(ctx context.Context, table string, partition civil.Date) (fingerprint string, columns []string,
	err error) {
	at := place{table: tableName(table), first: partition}
	err = s.repeat(ctx, func() error {
		f, err := s.tableInfo(ctx, s.pool, at.table)
		if err != nil {
			return err
		}
		columns = nil
		for _, c := range f.columns {
			columns = append(columns, c.name)
		}
		return s.pool.QueryRow(ctx, "SELECT fingerprint FROM "+s.named(loadsTable)+" WHERE table_name = $1 AND "+
			"partition_date = $2::date",
			at.table, at.first.String()).Scan(&fingerprint)
	})
	if err != nil {
		return "", nil, s.explain(err)
	}
	return fingerprint, columns, nil
}
