package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"time"
)

// Log keeps lines in their order, in a table of two columns: id and lines. A row of the table is
// what one transaction wrote, because a row for each line would take longer than all the rest of
// its way. What arrives while a transaction is under way shares the next one.
type Log struct {
	store *DB
	table string

	mu      sync.Mutex
	next    *Batch // what arrived since
	last    *Batch // the newest, written or not
	writing bool
	failed  error // what a batch failed with that nobody may have waited for
}

// NewLog is the log in a table of the database: id INTEGER PRIMARY KEY, lines TEXT.
func NewLog(db *DB, table string) *Log { return &Log{store: db, table: table} }

// Batch is one transaction's lines.
type Batch struct {
	lines []byte
	done  chan struct{} // closed when the lines are in the file, or err says why not
	err   error
}

// Add hands over a line, without its end; the batch tells when it is in the file. Without a log
// nothing is to be waited for.
func (l *Log) Add(line []byte) *Batch {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		l.next = &Batch{done: make(chan struct{})}
		l.last = l.next
	}
	l.next.lines = append(append(l.next.lines, line...), '\n')
	batch := l.next
	if !l.writing {
		l.writing = true
		go l.write()
	}
	return batch
}

// Wait returns once the batch's lines are in the file, or why they aren't. A nil batch is of no
// log, and needs no waiting.
func (b *Batch) Wait() error {
	if b == nil {
		return nil
	}
	<-b.done
	return b.err
}

// gather is what a batch waits for company: a transaction costs as much as a dozen records.
const gather = 500 * time.Microsecond

// write writes batches until none is left.
func (l *Log) write() {
	for more := true; more; {
		time.Sleep(gather)
		l.mu.Lock()
		batch := l.next
		l.next = nil
		l.mu.Unlock()
		batch.err = l.store.writeLines(l.table, batch.lines)
		l.mu.Lock()
		if batch.err != nil {
			l.failed = batch.err
		}
		more = l.next != nil
		l.writing = more
		l.mu.Unlock()
		close(batch.done)
	}
}

func (s *DB) writeLines(table string, lines []byte) error {
	ctx := context.Background()
	return s.Change(ctx, func(tx *sql.Tx) error { return Insert(ctx, tx, table, 2, []any{nil, string(lines)}) })
}

// Settle waits until all that was added is in the file, and says what wasn't written.
func (l *Log) Settle() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	err := last.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(err, l.failed)
}

// Erase empties the log.
func (l *Log) Erase() error {
	if err := l.Settle(); err != nil {
		return err
	}
	ctx := context.Background()
	return l.store.Change(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM "+l.table)
		return err
	})
}

// Lines hands out the lines in their order, without their ends.
func (l *Log) Lines(ctx context.Context, use func(line string) error) error {
	return l.store.Query(ctx, "SELECT lines FROM "+l.table+" ORDER BY id", nil, func(rows *sql.Rows) error {
		for rows.Next() {
			var lines string
			if err := rows.Scan(&lines); err != nil {
				return err
			}
			for line := range strings.Lines(lines) {
				if err := use(strings.TrimSuffix(line, "\n")); err != nil {
					return err
				}
			}
		}
		return rows.Err()
	})
}
