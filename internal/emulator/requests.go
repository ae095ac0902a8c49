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
	// Status is 0 while the request is being answered, and stays 0 if the connection was dropped.
	Status  int       `json:"status"`
	Fault   string    `json:"fault,omitempty"` // the scripted fault that struck it
	Started time.Time `json:"started"`         // by the real clock (synctest's in a test), not the emulated one
}

// requestLog holds the requests since the log was last emptied.
type requestLog struct {
	mu      sync.Mutex
	entries []*Request
}

// begin adds a request that is about to be answered.
func (l *requestLog) begin(r *http.Request, started time.Time) *Request {
	e := &Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Started: started}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
	return e
}

// faulted notes the scripted fault that struck a request.
func (l *requestLog) faulted(e *Request, fault string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Fault = fault
}

// end notes the status that a request was answered with.
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
