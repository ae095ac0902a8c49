package emulator

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// spendSchema is the log of all that was answered 200, in order of arrival, as lines of JSON. The books are what comes of
// it. A row of the table is what one transaction wrote, because a row for each record would take longer than all the rest
// of its way.
const spendSchema = `
CREATE TABLE spend (id INTEGER PRIMARY KEY, lines TEXT);`

// spendLine is a record in the log.
type spendLine struct {
	Received int64      `json:"received"` // seconds since 1970
	Values   costValues `json:"values"`
}

// spendLog writes the log to a kept file. What arrives while a transaction is under way shares the next one.
type spendLog struct {
	store *store

	mu      sync.Mutex
	next    *spendBatch // what arrived since
	writing bool
}

// spendBatch is one transaction's records.
type spendBatch struct {
	lines []byte
	done  chan struct{} // closed when the records are in the file, or err says why not
	err   error
}

// add hands over a record; the batch tells when it is in the file. Without a log nothing is to be waited for.
func (l *spendLog) add(rec spend, now time.Time) *spendBatch {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		l.next = &spendBatch{done: make(chan struct{})}
	}
	batch := l.next
	line, err := json.Marshal(spendLine{now.Unix(), rec.values()})
	if err != nil {
		panic(err) // texts and a number
	}
	batch.lines = append(append(batch.lines, line...), '\n')
	if !l.writing {
		l.writing = true
		go l.write()
	}
	return batch
}

func (b *spendBatch) wait() error {
	if b == nil {
		return nil
	}
	<-b.done
	return b.err
}

// gather is what a batch waits for company: a transaction costs as much as a dozen records.
const gather = 500 * time.Microsecond

// write writes batches until none is left.
func (l *spendLog) write() {
	for {
		time.Sleep(gather)
		l.mu.Lock()
		batch := l.next
		l.next = nil
		l.writing = batch != nil
		l.mu.Unlock()
		if batch == nil {
			return
		}
		batch.err = l.store.writeSpend(batch.lines)
		close(batch.done)
	}
}

func (s *store) writeSpend(lines []byte) error {
	ctx := context.Background()
	return s.change(ctx, func(tx *sql.Tx) error { return insert(ctx, tx, "spend", 2, []any{nil, string(lines)}) })
}

// openBooks makes the books, of a kept file what its log comes to.
func (s *Server) openBooks() error {
	s.books = newBooks()
	if s.opts.DB == "" {
		return nil
	}
	s.books.keep = &spendLog{store: s.store}
	st := statement{text: "SELECT lines FROM spend ORDER BY id"}
	err := s.store.query(context.Background(), st, func(rows *sql.Rows) error {
		for rows.Next() {
			var lines string
			if err := rows.Scan(&lines); err != nil {
				return err
			}
			if err := s.bookAgain(lines); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	if err != nil {
		return fmt.Errorf("open emulator database %s: read the log of spend: %w", s.opts.DB, err)
	}
	return nil
}

func (s *Server) bookAgain(lines string) error {
	for line := range strings.Lines(lines) {
		var l spendLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			return err
		}
		rec, refused := l.Values.check()
		if refused != "" {
			return fmt.Errorf("a record that isn't one: %s", refused)
		}
		now := time.Unix(l.Received, 0)
		e, found := s.findEngagement(rec.costID, now)
		s.books.book(rec, e, found, now)
		s.books.statuses[http.StatusOK]++
	}
	return nil
}
