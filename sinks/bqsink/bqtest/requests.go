package bqtest

import (
	"encoding/json"
	"net/url"
	"sync"
	"time"
)

// A Request is one call that the server saw.
type Request struct {
	Time   time.Time       `json:"time"` // by Options.Now
	Call   string          `json:"call"` // such as "jobs.insert"; "uploads.start" and "uploads.chunk" come before it in a resumable upload
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Query  url.Values      `json:"query,omitempty"`
	Job    string          `json:"job,omitempty"`      // the job ID that it names
	Match  string          `json:"if_match,omitempty"` // the If-Match header
	Body   json.RawMessage `json:"body,omitempty"`     // the metadata, not the rows of an upload
	Status int             `json:"status"`             // 0 when the connection was dropped
	Reason string          `json:"reason,omitempty"`   // of a refusal
	Fault  FaultKind       `json:"fault,omitempty"`    // the scripted fault that struck
}

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
