package bqtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	bq "google.golang.org/api/bigquery/v2"
)

// Null is a NULL in what Rows returns.
const Null = "␀"

// Rows returns the rows of a table, "project.dataset.table" or one partition of it,
// "project.dataset.table$20260101", in a canonical text form: cells in the order of the schema,
// NULL as Null, NUMERIC without zeros at its end, FLOAT64 as the shortest text that reads back the
// same, DATE and DATETIME as in SQL, TIMESTAMP in microseconds, and the rows sorted. A table that
// doesn't exist, or a view, is an error; a partition without rows has none.
func (s *Server) Rows(name string) ([][]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finishJobs(context.Background())
	id, decorator, decorated := splitDecorator(name)
	t := s.tables[id]
	if t == nil || t.isView() {
		return nil, fmt.Errorf("rows of %s: no such table; there are %s", name,
			strings.Join(slices.Sorted(maps.Keys(s.tables)), ", "))
	}
	texts := [][]string{}
	for _, r := range t.rows {
		if decorated && r.partition != decorator {
			continue
		}
		cells := make([]string, len(t.Doc.Schema.Fields))
		for i := range cells {
			cells[i] = canonicalText(r.cell(i))
		}
		texts = append(texts, cells)
	}
	slices.SortFunc(texts, slices.Compare)
	return texts, nil
}

// canonicalText returns a cell in the form that Rows describes.
func canonicalText(value any) string {
	switch v := value.(type) {
	case nil:
		return Null
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(value)
}

// Tables returns the tables and views as tables.get answers them, by "project.dataset.table".
func (s *Server) Tables() map[string]*bq.Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finishJobs(context.Background())
	all := map[string]*bq.Table{}
	for key, t := range s.tables {
		all[key] = s.resource(t)
	}
	return all
}

// Jobs returns the jobs as jobs.get answers them, oldest first.
func (s *Server) Jobs() []*bq.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finishJobs(context.Background())
	jobs := slices.SortedFunc(maps.Values(s.jobs), func(a, b *job) int { return int(a.Serial - b.Serial) })
	var all []*bq.Job
	for _, j := range jobs {
		all = append(all, j.resource())
	}
	return all
}

// A Request is one call that the server saw.
type Request struct {
	Time   time.Time // by Options.Now
	Call   string    // such as "jobs.insert"; "uploads.start" and "uploads.chunk" come before it in a resumable upload
	Method string
	Path   string
	Query  url.Values
	Job    string          // the job ID that the call names
	Match  string          // the If-Match header
	Body   json.RawMessage // the metadata, not the rows of an upload
	Status int             // 0 when the connection was dropped
	Reason string          // of a refusal
	Fault  FaultKind       // the scripted fault that struck
}

// requestLog is the list that Requests returns. It has a lock of its own, because a call is added
// after the server's lock is released.
type requestLog struct {
	mu      sync.Mutex
	entries []Request
}

func (l *requestLog) add(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, r)
}

// Requests returns the calls so far, in the order in which they ended.
func (s *Server) Requests() []Request {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return append([]Request{}, s.log.entries...)
}

// ForgetRequests empties the log.
func (s *Server) ForgetRequests() {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.log.entries = nil
}
