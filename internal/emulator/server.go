package emulator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/reportferry/reportferry/internal/emulator/apps"
	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/report"
	"github.com/reportferry/reportferry/internal/emulator/sharing"
	"github.com/reportferry/reportferry/internal/emulator/spend"
	"github.com/reportferry/reportferry/internal/emulator/wire"
	"github.com/reportferry/reportferry/internal/faults"
)

// Server is the emulated service: an http.Handler over a SQLite database. Make one with New, end it
// with Close.
type Server struct {
	opts Options
	// readings say how the service does what its document leaves open.
	readings reading.Set
	shift    atomic.Int64 // nanoseconds added to Options.Now
	callers  callers
	script   script
	restate  restater
	log      requestLog
	inproc   inProcess

	world   *facts.World
	reports *report.Service
	apps    *apps.Service
	sharing *sharing.Service
	spend   *spend.Service

	closing  context.Context    // done once Close begins: ends every wait and query
	end      context.CancelFunc // makes closing done
	activeMu sync.Mutex         // orders Close and the start of handlers
	active   sync.WaitGroup

	reporting atomic.Int64 // reports that are worked on

	limitMu  sync.Mutex
	limiters map[string]*rate.Limiter // by address, or by token
}

// olderPrefix stands before the reports' paths at the service's host of 2023, dash.adjust.com,
// which many clients name.
const olderPrefix = "/control-center"

// New opens an emulator. It takes a few milliseconds: data is made when it is first asked for.
func New(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("new emulator: %w", err)
	}
	names := facts.Ordinary
	if o.Hostile {
		names = facts.Hostile
	}
	s := &Server{opts: o, limiters: map[string]*rate.Limiter{}, world: facts.New(o.Seed, o.Apps,
		facts.DayOf(o.Now())-o.Days+1, names)}
	if s.readings, err = reading.New(o.Readings...); err != nil {
		return nil, fmt.Errorf("new emulator: %w", err)
	}
	if s.readings.Is(reading.EventSlugs, "names") {
		s.world.NameSlugs()
	}
	s.closing, s.end = context.WithCancel(context.Background())
	s.callers.set(o)
	if err := s.script.Set(o.Faults); err != nil {
		s.end()
		return nil, fmt.Errorf("new emulator: %w", err)
	}
	if err := s.world.Open(o.DB, spend.Schema+apps.Schema+sharing.Schema); err != nil {
		s.end()
		return nil, err
	}
	if err := s.openServices(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openServices makes the endpoints over the world. Its errors say what is wrong with an option, or
// with a kept file.
func (s *Server) openServices() (err error) {
	o, kept := s.opts, s.opts.DB != ""
	s.spend, err = spend.New(s.world, spend.Options{Partners: o.Partners, Header: o.SpendHeader, Open: o.OpenSpend,
		Readings: s.readings, Kept: kept, Now: s.now, Logger: o.Logger})
	if err != nil {
		return fmt.Errorf("open emulator database %s: %w", o.DB, err)
	}
	s.reports = report.New(s.world, report.Options{MaxPairs: o.MaxPairs, Bulk: o.Bulk, Settle: s.spend.Publish,
		Readings: s.readings, Now: s.now, Logger: o.Logger})
	automation := apps.Options{Template: o.Template, NoTemplate: o.NoTemplate, TicketStep: o.TicketStep,
		Readings: s.readings, Now: s.now, Logger: o.Logger}
	if kept {
		automation.VaultFile = o.DB + ".key"
	}
	if s.apps, err = apps.New(s.world, automation); err != nil {
		return fmt.Errorf("open emulator database %s: %w", o.DB, err)
	}
	if err := s.apps.SetFaults(o.JobFaults); err != nil {
		return fmt.Errorf("new emulator: job %w", err)
	}
	s.sharing, err = sharing.New(s.world.Store, sharing.Options{Readings: s.readings, Tokens: o.SharingTokens,
		Channels: apps.Channels(), Reported: reportedPartners(), Partners: o.SharingPartners,
		HasApp: func(token string) (bool, error) { return s.world.Account().Find(token) >= 0, nil }, Kept: kept,
		Now: s.now, Logger: o.Logger})
	if err != nil {
		return fmt.Errorf("new emulator: %w", err)
	}
	if err := s.sharing.Replay(); err != nil {
		return fmt.Errorf("open emulator database %s: %w", o.DB, err)
	}
	return nil
}

// reportedPartners lists the partners in reports with which data can be shared.
func reportedPartners() (list []sharing.Partner) {
	for _, p := range facts.Partners() {
		list = append(list, sharing.Partner{Slug: p.Slug, ID: p.ID, Name: p.Name})
	}
	return list
}

// Close ends the in-process client and every running request, then removes the database unless
// Options.DB keeps it. Close an http.Server that serves s from outside before it: Close waits for
// its handlers.
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
	var err error
	if s.sharing != nil { // it is nil when New has failed
		err = s.sharing.Close()
	}
	return errors.Join(err, s.world.Close())
}

// now returns the time of the emulator's clock: Options.Now plus all shifts.
func (s *Server) now() time.Time { return s.opts.Now().Add(time.Duration(s.shift.Load())) }

// Shift moves the data's clock by d, so that cohorts mature and spend is restated.
func (s *Server) Shift(d time.Duration) { s.shift.Add(int64(d)) }

// ServeHTTP answers the reporting endpoints, app automation, /cost, /third_party_sharing,
// /openapi.json, and /_emulator/ to callers on this machine. A scripted cut panics with
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
	x := &wire.Exchange{ResponseWriter: w, Closing: s.closing, Latency: s.opts.Latency, Readings: s.readings}
	if path, ok := strings.CutPrefix(r.URL.Path, olderPrefix+"/"); ok {
		r = r.Clone(r.Context())
		r.URL.Path, r.URL.RawPath = "/"+path, ""
	}
	switch path := strings.TrimSuffix(r.URL.Path, "/"); {
	case strings.HasPrefix(r.URL.Path, adminPrefix):
		s.serveAdmin(x, r)
	case path == "/openapi.json":
		x.Header().Set("Content-Type", "application/json")
		_, _ = x.Write(description) // a client that is gone needs no answer
	// Requests for spend and sharing stay out of the request log, which would else hold IDs of
	// devices. Each of the two services keeps what it took.
	case path == spend.Path:
		x.Fault = s.script.next(r, s.now())
		s.spend.Serve(x, r)
	case path == sharing.Path:
		x.Fault = s.script.next(r, s.now())
		s.sharing.Serve(x, r)
	default:
		s.serveLogged(x, r)
	}
}

// serveLogged answers the requests that go into the request log: those for reports and app
// automation. Close breaks off what they wait for.
func (s *Server) serveLogged(x *wire.Exchange, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	r = r.WithContext(ctx)

	started := time.Now()
	entry := s.log.begin(r, started)
	defer func() { s.log.end(entry, x.Status) }()
	automation := strings.HasPrefix(r.URL.Path, apps.Prefix)
	if automation || strings.HasPrefix(r.URL.Path, report.Prefix) {
		if x.Fault = s.script.next(r, s.now()); x.Fault != nil {
			s.log.faulted(entry, x.Fault.String())
		}
	}
	if automation {
		s.apps.Serve(x, r, s.mayAutomate)
	} else {
		s.serveReport(x, r)
	}
	s.opts.Logger.Debug("answered", "method", r.Method, "path", r.URL.Path, "status", x.Status, "took",
		time.Since(started))
}

// serveReport answers a request for a report, after checks of load, credentials and limits.
func (s *Server) serveReport(x *wire.Exchange, r *http.Request) {
	x.Correlates = true
	overloaded := false
	if strings.HasSuffix(r.URL.Path, "report") {
		most, err := strconv.ParseInt(s.readings.Of(reading.Overload), 10, 64)
		defer s.reporting.Add(-1)
		if s.reporting.Add(1) > most && err == nil {
			// A report may still count here although its client has read the answer to its end.
			_ = faults.Sleep(r.Context(), time.Millisecond)
			overloaded = s.reporting.Load() > most
		}
	}
	if faults.Sleep(r.Context(), s.opts.Latency) != nil || x.Instead(r) {
		return
	}
	if e := s.admit(r); e != nil {
		x.Fail(e)
		return
	}
	if most, err := strconv.Atoi(s.readings.Of(reading.Address)); err == nil && len(r.URL.RequestURI()) > most {
		x.Fail(&wire.Error{Status: http.StatusRequestURITooLong, Code: wire.CodeService, Desc: "Request-URI Too Large"})
		return
	}
	if overloaded { // source of the words: answers that authors of other clients have shown
		x.Fail(&wire.Error{Status: http.StatusInternalServerError, Code: wire.CodeService,
			Desc: "Internal Service Error: TimeoutError"})
		return
	}
	after, err := s.restateAround(r)
	if err != nil {
		x.Fail(wire.Failed(err.Error()))
		return
	}
	defer after()
	s.reports.Serve(x, r)
}
