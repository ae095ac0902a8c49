package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"time"
)

// Log keeps lines in their order, in a table of two columns: id and lines. A row of the table has
// the lines of one transaction, because writing a row for each line would take longer than all else
// that is done for the line. Lines that arrive during a transaction share the next one.
type Log struct {
	store *DB
	table string

	mu      sync.Mutex
	next    *Batch // the lines to be written next; nil: none arrived
	last    *Batch // the newest batch, written or not
	writing bool   // a goroutine runs write
	failed  error  // the last error of a batch, for which nobody may have waited
}

// NewLog returns the log in a table of the database, whose columns are id INTEGER PRIMARY KEY and
// lines TEXT.
func NewLog(db *DB, table string) *Log { return &Log{store: db, table: table} }

// Batch is one transaction's lines.
type Batch struct {
	lines []byte
	done  chan struct{} // closed when the lines are in the file, or err says why not
	err   error
}

// Add hands over a line without its newline, and returns the batch that the line is written with. A
// nil log drops the line and returns a nil batch.
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

// Wait waits until the batch's lines are in the file, and returns an error if they weren't written.
// A nil batch comes from a nil log and needs no waiting.
func (b *Batch) Wait() error {
	if b == nil {
		return nil
	}
	<-b.done
	return b.err
}

// batchDelay is how long a batch waits for further lines: a transaction costs as much as a dozen
// records.
const batchDelay = 500 * time.Microsecond

// write writes batches until none is left.
func (l *Log) write() {
	for more := true; more; {
		time.Sleep(batchDelay)
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

// writeLines writes lines as one row of a table.
func (s *DB) writeLines(table string, lines []byte) error {
	ctx := context.Background()
	return s.Change(ctx, func(tx *sql.Tx) error { return Insert(ctx, tx, table, 2, []any{nil, string(lines)}) })
}

// Settle waits until all lines that were added are in the file, and returns an error if some
// weren't written.
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

// Lines calls use with each line in their order, without its newline.
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
