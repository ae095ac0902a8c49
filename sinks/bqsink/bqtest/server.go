package bqtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/reportferry/reportferry/internal/faults"
)

// A Server is the warehouse: an http.Handler over tables in memory. It is made by New and ended by
// Close. Everything happens inside calls, by the clock Options.Now; no goroutine runs between
// calls.
type Server struct {
	opts   Options
	mux    *http.ServeMux
	script faults.Script[Fault]
	log    requestLog

	mu       sync.Mutex // guards the fields from here to loads; never held while waiting
	datasets map[string]*dataset
	tables   map[string]*table
	jobs     map[string]*job
	running  map[*job]bool
	uploads  map[string]*upload
	denied   []string
	quotas   Quotas
	shift    time.Duration // added to Options.Now
	serial   int64         // the last number that was given to a job
	loads    loadHistory

	listening sync.Mutex
	servers   []*http.Server
}

// New makes an empty warehouse with the datasets of the options.
func New(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		opts: o, datasets: map[string]*dataset{}, tables: map[string]*table{}, jobs: map[string]*job{},
		running: map[*job]bool{}, uploads: map[string]*upload{}, denied: o.Denied, quotas: o.Quotas,
		loads: loadHistory{},
	}
	s.routes()
	if err := s.script.Set(o.Faults); err != nil {
		return nil, fmt.Errorf("new bqtest: %w", err)
	}
	for _, name := range o.Datasets {
		project, id, _ := strings.Cut(name, ".")
		s.datasets[name] = newDataset(project, id, o, s.now())
	}
	return s, nil
}

// Listen serves on a free port of 127.0.0.1 until Close, and returns the base URL, such as
// "http://127.0.0.1:40001". The Go client takes it by option.WithEndpoint(url + "/bigquery/v2/").
func (s *Server) Listen() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for bqtest: %w", err)
	}
	h := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	s.listening.Lock()
	s.servers = append(s.servers, h)
	s.listening.Unlock()
	go func() { _ = h.Serve(l) }() // ends with ErrServerClosed
	return "http://" + l.Addr().String(), nil
}

// Close ends the listeners.
func (s *Server) Close() error {
	s.listening.Lock()
	defer s.listening.Unlock()
	var err error
	for _, h := range s.servers {
		err = errors.Join(err, h.Close())
	}
	s.servers = nil
	return err
}

// now returns the time of the server's clock: Options.Now, advanced by Advance.
func (s *Server) now() time.Time { return s.opts.Now().Add(s.shift).UTC() }

// Advance moves the server's clock forward, so that running jobs end without waiting.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shift += d
	s.finishJobs(context.Background())
}

// SetDenied replaces the permissions that the caller lacks.
func (s *Server) SetDenied(permissions ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied = permissions
}

// ServeHTTP answers BigQuery's calls, with or without /bigquery/v2 before their path.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/resumable")
	path, isUpload := strings.CutPrefix(path, "/upload")
	path = strings.TrimPrefix(path, "/bigquery/v2")
	if isUpload {
		path = "/upload" + path
	}
	inner := r.Clone(r.Context())
	inner.URL.Path, inner.URL.RawPath = path, ""
	inner = inner.WithContext(context.WithValue(inner.Context(), originalKey{}, r))
	s.mux.ServeHTTP(w, inner)
}

// originalKey is the context key of the request as it arrived, with its whole path.
type originalKey struct{}
