package emulator

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// spendSchema is the log of all that was answered 200, in order of arrival, as lines of JSON. The books are what comes of
// it. See lineLog.
const spendSchema = `
CREATE TABLE spend (id INTEGER PRIMARY KEY, lines TEXT);`

// spendLine is a record in the log.
type spendLine struct {
	Received int64      `json:"received"` // seconds since 1970
	Values   costValues `json:"values"`
}

// keepSpend hands a record to the log.
func (b *books) keepSpend(rec spend, now time.Time) *lineBatch {
	if b.keep == nil {
		return nil
	}
	line, err := json.Marshal(spendLine{now.Unix(), rec.values()})
	if err != nil {
		panic(err) // texts and a number
	}
	return b.keep.add(line)
}

// openBooks makes the books, of a kept file what its log comes to.
func (s *Server) openBooks() error {
	s.books = newBooks()
	if s.opts.DB == "" {
		return nil
	}
	s.books.keep = &lineLog{store: s.store, table: "spend"}
	if err := s.books.keep.rows(context.Background(), s.bookAgain); err != nil {
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
