package store

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"
)

// A change that fails or panics leaves nothing behind, and the next one isn't kept waiting by it.
func TestChangesThatEndBadlyAreUndone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, err := Open("", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE kept (what TEXT)")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	put := func(what string, end func() error) error {
		return s.Change(ctx, func(tx *sql.Tx) error {
			if err := Insert(ctx, tx, "kept", 1, []any{what}); err != nil {
				return err
			}
			return end()
		})
	}
	bad := errors.New("bad")
	if err := put("failed", func() error { return bad }); !errors.Is(err, bad) {
		t.Errorf("a change that fails: %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is swallowed")
			}
		}()
		_ = put("panicked", func() error { panic("bad") })
	}()
	done := make(chan error, 1)
	go func() { done <- put("good", func() error { return nil }) }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the next change waits for ever")
	}
	var what []string
	if err := s.Query(ctx, "SELECT what FROM kept", nil, func(rows *sql.Rows) error {
		for rows.Next() {
			var w string
			if err := rows.Scan(&w); err != nil {
				return err
			}
			what = append(what, w)
		}
		return rows.Err()
	}); err != nil || len(what) != 1 || what[0] != "good" {
		t.Errorf("kept are %q, %v", what, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
