package emulator

import (
	"net/http"
	"sync"
	"time"
)

// Request is one entry of the request log, which has all requests in order of arrival but those to
// /cost, /third_party_sharing and the admin API.
type Request struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Query  string `json:"query"` // raw
	// 0 while it is being answered, or when the connection was dropped before.
	Status  int       `json:"status"`
	Fault   string    `json:"fault,omitempty"` // the scripted fault that struck it
	Started time.Time `json:"started"`         // by the real clock (synctest's in a test), not the emulated one
}

type requestLog struct {
	mu      sync.Mutex
	entries []*Request
}

func (l *requestLog) begin(r *http.Request, started time.Time) *Request {
	e := &Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Started: started}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
	return e
}

func (l *requestLog) faulted(e *Request, fault string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Fault = fault
}

func (l *requestLog) end(e *Request, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Status = status
}

func (l *requestLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// Requests returns the request log since New or its last reset.
func (s *Server) Requests() []Request {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	out := make([]Request, len(s.log.entries))
	for i, e := range s.log.entries {
		out[i] = *e
	}
	return out
}
