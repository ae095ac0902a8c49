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

// openBooks reads the log of a kept file. Books of a private file need no log.
func (s *spendService) openBooks() error {
	if !s.opts.kept {
		return nil
	}
	s.books.keep = newLog(s.world.store, "spend")
	if err := s.books.keep.rows(context.Background(), s.bookAgain); err != nil {
		return fmt.Errorf("read the log of spend: %w", err)
	}
	return nil
}

func (s *spendService) bookAgain(lines string) error {
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
		e, found := s.world.findEngagement(rec.costID, now)
		s.books.book(rec, e, found, now)
		s.books.statuses[http.StatusOK]++
	}
	return nil
}
