package emulator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// daysPerCommit bounds how many day-app pairs one transaction writes, so that others get theirs in between.
const daysPerCommit = 64

// making is the generation of one app's day.
type making struct {
	done chan struct{} // closed once the facts are committed, or err is set
	err  error
}

type appDay struct{ app, day int }

// insert writes rows of width values each, one a statement: the driver finds each parameter by walking through all of
// them, so that many rows in one statement would be slower.
func insert(ctx context.Context, tx *sql.Tx, table string, width int, values []any) (err error) {
	stmt, err := tx.PrepareContext(ctx, "INSERT INTO "+table+" VALUES (?"+strings.Repeat(",?", width-1)+")")
	if err != nil {
		return fmt.Errorf("write %s: %w", table, err)
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	for ; len(values) > 0; values = values[width:] {
		if _, err := stmt.ExecContext(ctx, values[:width]...); err != nil {
			return fmt.Errorf("write %s: %w", table, err)
		}
	}
	return nil
}

func inTx(ctx context.Context, conn *sql.Conn, do func(*sql.Tx) error) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// change runs do in a transaction of its own: nobody else writes meanwhile.
func (s *store) change(ctx context.Context, do func(*sql.Tx) error) error {
	conn := <-s.edit
	defer func() { s.edit <- conn }()
	return inTx(ctx, conn, do)
}

// ensure makes the facts of the apps on the days from..to, each pair once, and waits for those that others are making.
// It isn't cut short by a request's end: others may be waiting for the same days.
func (s *store) ensure(apps []int, from, to int) error {
	var mine []appDay
	var others []*making
	s.mu.Lock()
	for day := from; day <= to; day++ {
		for _, a := range apps {
			k := appDay{a, day}
			if m, ok := s.made[k]; ok {
				others = append(others, m)
				continue
			}
			s.made[k] = &making{done: make(chan struct{})}
			mine = append(mine, k)
		}
	}
	s.mu.Unlock()
	for len(mine) > 0 {
		n := min(len(mine), daysPerCommit)
		if err := s.make(mine[:n]); err != nil {
			s.release(mine, err)
			return err
		}
		s.release(mine[:n], nil)
		mine = mine[n:]
	}
	for _, m := range others {
		if <-m.done; m.err != nil {
			return m.err
		}
	}
	return nil
}

// release lets those go on who wait for these pairs; pairs that failed may be tried again.
func (s *store) release(pairs []appDay, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range pairs {
		s.made[k].err = err
		close(s.made[k].done)
		if err != nil {
			delete(s.made, k)
		}
	}
}

// make writes the facts of those pairs that the database hasn't got yet: another process or an earlier run may have made
// them.
func (s *store) make(pairs []appDay) error {
	ctx := context.Background()
	return s.change(ctx, func(tx *sql.Tx) error {
		missing, err := markMade(ctx, tx, pairs)
		if err != nil {
			return err
		}
		values := make([]any, 0, len(missing)*50*factColumns)
		for _, k := range missing {
			for _, f := range makeDay(s.seed, k.app, &s.apps[k.app], k.day) {
				values = f.appendValues(values)
			}
		}
		return insert(ctx, tx, "facts", factColumns, values)
	})
}
