package emulator

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	reportsPrefix    = "/reports-service/"
	automationPrefix = "/app-automation/"
)

// Server is the emulated service: an http.Handler over a SQLite database. Make one with New, end it with Close.
type Server struct {
	opts     Options
	apps     []app
	catalog  eventCatalog
	formulas formulaTable
	store    *store
	paid     paidDays
	books    *books
	shared   *sharingBooks
	shift    atomic.Int64 // nanoseconds added to Options.Now
	callers  callers
	jobs     jobScript
	vault    vaultKey

	script   script
	log      requestLog
	inproc   inProcess
	closing  context.Context // done once Close begins: ends every wait and query
	end      context.CancelFunc
	activeMu sync.Mutex // orders Close and the start of handlers
	active   sync.WaitGroup

	limitMu  sync.Mutex
	limiters map[string]*rate.Limiter // one bucket per token
}

// New opens an emulator. It takes a few milliseconds: data is made when it is first asked for.
func New(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{opts: o, limiters: map[string]*rate.Limiter{}}
	s.apps = makeApps(o.Seed, o.Apps)
	s.catalog = makeEventCatalog(o.Seed, s.apps)
	s.formulas = makeFormulaTable()
	s.closing, s.end = context.WithCancel(context.Background())
	s.script.set(o.Faults)
	s.callers.set(o)
	s.jobs.set(o.JobFaults)
	if s.store, err = openStore(o, s.apps, s.catalog); err != nil {
		s.end()
		return nil, err
	}
	if err := errors.Join(s.openBooks(), s.openVault()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.openSharing(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close ends the in-process client and every running request, then removes the database unless Options.DB keeps it. Close an http.Server that
// serves s from outside before it: Close waits for its handlers.
func (s *Server) Close() error {
	s.activeMu.Lock()
	closed := s.closing.Err() != nil
	s.end()
	s.activeMu.Unlock()
	if closed {
		return nil
	}
	s.inproc.close()
	s.active.Wait()
	return errors.Join(s.shared.settle(), s.store.close())
}

// now is the emulator's clock: Options.Now and what was shifted since.
func (s *Server) now() time.Time { return s.opts.Now().Add(time.Duration(s.shift.Load())) }

// ServeHTTP answers the reporting endpoints, app automation, /cost, /third_party_sharing, and /_emulator/ to callers on this
// machine. A scripted cut panics with
// http.ErrAbortHandler, as net/http asks of a handler that gives up in the middle of an answer.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.activeMu.Lock()
	if s.closing.Err() != nil {
		s.activeMu.Unlock()
		panic(http.ErrAbortHandler)
	}
	s.active.Add(1)
	s.activeMu.Unlock()
	defer s.active.Done()
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
	if strings.HasPrefix(r.URL.Path, adminPrefix) {
		s.serveAdmin(w, r)
		return
	}
	if strings.TrimSuffix(r.URL.Path, "/") == costPath {
		s.serveCost(w, r)
		return
	}
	if strings.TrimSuffix(r.URL.Path, "/") == sharingPath {
		s.serveSharing(w, r)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	r = r.WithContext(ctx)

	x := &exchange{ResponseWriter: w, started: time.Now()}
	entry := s.log.begin(r, x.started)
	defer func() { s.log.end(entry, x.status) }()
	automation := strings.HasPrefix(r.URL.Path, automationPrefix)
	if automation || strings.HasPrefix(r.URL.Path, reportsPrefix) {
		if x.fault = s.script.next(r, s.now()); x.fault != nil {
			s.log.faulted(entry, x.fault.String())
		}
	}
	if automation {
		s.serveAutomation(x, r)
	} else {
		s.serveReporting(x, r)
	}
	s.opts.Logger.Debug("answered", "method", r.Method, "path", r.URL.Path, "status", x.status, "took", time.Since(x.started))
}

func (s *Server) serveReporting(x *exchange, r *http.Request) {
	if sleep(r.Context(), s.opts.Latency) != nil || s.faultInstead(x, r) {
		return
	}
	if e := s.admit(r); e != nil {
		x.fail(e)
		return
	}
	switch strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, reportsPrefix), "/") {
	case "events":
		s.serveEvents(x, r)
	case "csv_report":
		s.serveReport(x, r)
	case "report":
		s.serveJSONReport(x, r)
	case "parquet_report":
		s.serveParquetReport(x, r)
	case "filters_data":
		s.serveFiltersData(x, r)
	case "pivot_report":
		x.fail(notYet("%s", r.URL.Path))
	default:
		x.fail(&serviceError{status: http.StatusNotFound, code: codeRequest, desc: "Not found: " + r.URL.Path})
	}
}

// admit checks method, credentials, account and the token's bucket, in this order.
func (s *Server) admit(r *http.Request) *serviceError {
	token, _, e := s.authenticate(r)
	if e != nil {
		return e
	}
	if !s.allow(token) {
		return &serviceError{status: http.StatusTooManyRequests, code: codeRequest, desc: "Rate limit exceeded", retryAfter: 1}
	}
	if r.Method != http.MethodGet {
		return badRequest("Method %s is not supported", r.Method)
	}
	return nil
}

// allow takes one token from the bucket of an API token. The bucket runs on real time (fake inside a synctest bubble),
// not on the data's clock, which a test may hold still.
func (s *Server) allow(token string) bool {
	if s.opts.Rate < 0 {
		return true
	}
	s.limitMu.Lock()
	l := s.limiters[token]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(s.opts.Rate), s.opts.Burst)
		s.limiters[token] = l
	}
	s.limitMu.Unlock()
	return l.Allow()
}

// sleep waits for d or until ctx ends. No lock is held around it.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
