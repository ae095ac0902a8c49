package spend

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/store"
)

// Schema makes the table of the log: all records that were answered 200, in order of arrival, as
// lines of JSON. The spend that reports show is rebuilt from it. See store.Log.
const Schema = `
CREATE TABLE spend (id INTEGER PRIMARY KEY, lines TEXT);`

// logLine is one record of spend in the log.
type logLine struct {
	Received int64  `json:"received"` // seconds since 1970
	Values   params `json:"values"`
}

// keepRecord adds a record to the log. It returns nil when there is no log.
func (b *costStore) keepRecord(rec record, now time.Time) *store.Batch {
	if b.log == nil {
		return nil
	}
	line, err := json.Marshal(logLine{now.Unix(), rec.values()})
	if err != nil {
		panic(err) // can't happen: the line is texts and a number
	}
	return b.log.Add(line)
}

// restore rebuilds the kept records from the log, if the database file is one that is kept. A file
// that is deleted at the end needs no log.
func (s *Service) restore() error {
	if !s.opts.Kept {
		return nil
	}
	s.costs.log = store.NewLog(s.world.Store, "spend")
	if err := s.costs.log.Lines(context.Background(), s.applyLine); err != nil {
		return fmt.Errorf("read the log of spend: %w", err)
	}
	return nil
}

// applyLine applies one line of the log as of the time at which it was received.
func (s *Service) applyLine(line string) error {
	var l logLine
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		return err
	}
	rec, refused := l.Values.check()
	if refused != "" {
		return fmt.Errorf("an invalid record: %s", refused)
	}
	now := time.Unix(l.Received, 0)
	e, matches := s.world.FindEngagement(rec.costID, now)
	s.costs.apply(rec, e, matches, now)
	s.costs.answers.Answer(http.StatusOK, "")
	return nil
}
