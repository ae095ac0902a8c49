package store_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator/store"
)

// Several that open a new file at once wait for each other: SQLite itself doesn't wait when a file
// is put into WAL mode.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for n := range 20 {
		file := filepath.Join(dir, strconv.Itoa(n)+".db")
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for range 6 {
			wg.Go(func() {
				<-begin
				db, err := store.Open(file, func(ctx context.Context, tx *sql.Tx) error {
					_, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY)")
					return err
				})
				if err != nil {
					t.Error(err)
				} else if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		close(begin)
		wg.Wait()
	}
}
