package bqtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Server is the warehouse: an http.Handler over an SQLite database. Make one with New, end it with Close. Everything
// happens inside calls and by the clock Options.Now: no goroutine of its own is running between them.
type Server struct {
	opts   Options
	mux    *http.ServeMux
	script script
	log    requestLog

	mu       sync.Mutex // all below; never held while waiting for time to pass
	store    *store
	datasets map[string]*dataset
	tables   map[string]*table
	jobs     map[string]*job
	running  map[*job]bool
	uploads  map[string]*upload
	denied   []string
	quotas   Quotas
	shift    time.Duration // added to Options.Now
	serial   int64         // for what needs a number of its own
	loads    loadHistory

	listening sync.Mutex
	servers   []*http.Server
}

// New opens the warehouse that Options.DB keeps, or an empty one.
func New(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		opts: o, datasets: map[string]*dataset{}, tables: map[string]*table{}, jobs: map[string]*job{},
		running: map[*job]bool{}, uploads: map[string]*upload{}, denied: o.Denied, quotas: o.Quotas, loads: loadHistory{},
	}
	s.routes()
	s.script.set(o.Faults)
	if s.store, err = openStore(o.DB); err != nil {
		return nil, fmt.Errorf("new bqtest: %w", err)
	}
	if err := s.restore(); err != nil {
		_ = s.store.close()
		return nil, fmt.Errorf("new bqtest: %w", err)
	}
	return s, nil
}

// restore reads what an earlier server with the same file knew, and makes the datasets that the options name.
func (s *Server) restore() error {
	if err := restoreDocs(s.store, "dataset", s.datasets); err != nil {
		return err
	}
	if err := restoreDocs(s.store, "table", s.tables); err != nil {
		return err
	}
	if err := restoreDocs(s.store, "job", s.jobs); err != nil {
		return err
	}
	for _, j := range s.jobs {
		s.serial = max(s.serial, j.Serial)
		if !j.Done {
			s.running[j] = true
		}
	}
	for _, t := range s.tables {
		s.serial = max(s.serial, t.Serial)
	}
	s.countEarlierLoads()
	for _, name := range s.opts.Datasets {
		project, id, _ := strings.Cut(name, ".")
		if s.datasets[name] != nil {
			continue
		}
		if err := s.keepDataset(newDataset(project, id, s.opts.Location, s.now())); err != nil {
			return err
		}
	}
	return nil
}

// Listen serves on a free port of 127.0.0.1 until Close and returns the base URL, such as "http://127.0.0.1:40001". With
// the Go client it is option.WithEndpoint(url + "/bigquery/v2/").
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

// Close ends the listeners and closes the database. With Options.DB set, New brings everything back.
func (s *Server) Close() error {
	s.listening.Lock()
	for _, h := range s.servers {
		_ = h.Close()
	}
	s.servers = nil
	s.listening.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.close()
}

// now is the server's clock: Options.Now and what was shifted since.
func (s *Server) now() time.Time { return s.opts.Now().Add(s.shift).UTC() }

// Advance moves the server's clock forward, so that running jobs end without waiting.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shift += d
	s.settle(context.Background())
}

// SetQuotas replaces the quotas.
func (s *Server) SetQuotas(q Quotas) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quotas = q
}

// SetDenied replaces the permissions that the caller lacks.
func (s *Server) SetDenied(permissions ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied = permissions
}

// ServeHTTP answers BigQuery's calls, with or without /bigquery/v2 before their path, and the admin calls below
// /_bqtest/ to callers on this machine.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, adminPrefix) {
		s.serveAdmin(w, r)
		return
	}
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

// originalKey is the context key of the request as it came, with its whole path.
type originalKey struct{}
