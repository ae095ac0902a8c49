package emulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// FaultKind says what a Fault does.
type FaultKind string

// The kinds of faults.
const (
	FaultStatus FaultKind = "status" // answer Fault.Status with the service's error body
	FaultSlow   FaultKind = "slow"   // wait Fault.Delay before the first byte, then answer as ever
	FaultCut    FaultKind = "cut"    // end the connection within a row, after Fault.AfterBytes bytes of uncompressed body
	FaultReset  FaultKind = "reset"  // drop the connection in the middle of the answer's header
	FaultDrift  FaultKind = "drift"  // change a report's columns: Fault.Drift
	FaultHTML   FaultKind = "html"   // 200 text/html
	FaultEmpty  FaultKind = "empty"  // 200 text/csv without a byte
	FaultLost   FaultKind = "lost"   // do what was asked, then drop the connection, or answer Fault.Status if it is set
)

// Ways the columns of a report drift, CSV, JSON or Parquet.
const (
	DriftRename  = "rename"  // Column (default: the last) is named "<column>_v2"
	DriftMissing = "missing" // Column (default: the last) is left out, cells too
	DriftExtra   = "extra"   // a column "extra" of zeros is appended
)

// Fault is one line of a fault script. Path, MinDays and Query say which requests it looks at, all but admin calls;
// it counts them from 1 since the script was set and strikes at number Nth (default 1), and then every Every-th, at most
// Times times (default: once, or without end when Every is set). Of several that strike at one request the first is taken.
//
// Outside of reports what is asked is done under slow, cut, empty and lost, and not under status, reset and html; drift
// means nothing there.
type Fault struct {
	Nth     int    `json:"nth,omitempty"`
	Every   int    `json:"every,omitempty"`
	Times   int    `json:"times,omitempty"`
	Path    string `json:"path,omitempty"`     // the path's end, e.g. "csv_report"; "" is any
	MinDays int    `json:"min_days,omitempty"` // only requests whose date_period has at least so many days
	Query   string `json:"query,omitempty"`    // only requests whose decoded query contains this

	Kind       FaultKind     `json:"kind"`
	Status     int           `json:"status,omitempty"`      // FaultStatus, FaultLost: 400 to 599
	RetryAfter int           `json:"retry_after,omitempty"` // FaultStatus: seconds; 0 sends no Retry-After
	Delay      time.Duration `json:"-"`                     // FaultSlow; in JSON "delay": "1.5s"
	Random     bool          `json:"random,omitempty"`      // FaultSlow: wait anything up to Delay, the same in each run
	AfterBytes int64         `json:"after_bytes,omitempty"` // FaultCut
	Drift      string        `json:"drift,omitempty"`       // FaultDrift
	Column     string        `json:"column,omitempty"`      // FaultDrift
}

type plainFault Fault

type faultJSON struct {
	plainFault
	Delay string `json:"delay,omitempty"`
}

// MarshalJSON writes the fault with its delay as text, such as "1.5s".
func (f Fault) MarshalJSON() ([]byte, error) {
	j := faultJSON{plainFault: plainFault(f)}
	if f.Delay != 0 {
		j.Delay = f.Delay.String()
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Fault) UnmarshalJSON(b []byte) error {
	var j faultJSON
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields() // a misspelt fault would strike at random
	if err := d.Decode(&j); err != nil {
		return err
	}
	*f = Fault(j.plainFault)
	if j.Delay == "" {
		return nil
	}
	var err error
	f.Delay, err = time.ParseDuration(j.Delay)
	return err
}

// refuses says that the fault answers before anything is done.
func (f *Fault) refuses() bool {
	return f != nil && (f.Kind == FaultStatus || f.Kind == FaultHTML || f.Kind == FaultReset)
}

// String names the fault for the request log.
func (f *Fault) String() string {
	switch f.Kind {
	case FaultStatus:
		return fmt.Sprint(f.Status)
	case FaultDrift:
		return string(f.Kind) + " " + f.Drift
	default:
		return string(f.Kind)
	}
}

func (f *Fault) validate() error {
	switch f.Kind {
	case FaultStatus:
		if f.Status < 400 || f.Status > 599 {
			return fmt.Errorf("status %d is not between 400 and 599", f.Status)
		}
	case FaultDrift:
		if f.Drift != DriftRename && f.Drift != DriftMissing && f.Drift != DriftExtra {
			return fmt.Errorf("drift %q is not rename, missing or extra", f.Drift)
		}
	case FaultLost:
		if f.Status != 0 && (f.Status < 400 || f.Status > 599) {
			return fmt.Errorf("status %d is not between 400 and 599", f.Status)
		}
	case FaultSlow, FaultCut, FaultReset, FaultHTML, FaultEmpty:
	default:
		return fmt.Errorf("kind %q is not status, slow, cut, reset, drift, html, empty or lost", f.Kind)
	}
	if f.Nth < 0 || f.Every < 0 || f.Times < 0 || f.MinDays < 0 || f.AfterBytes < 0 || f.Delay < 0 || f.RetryAfter < 0 {
		return fmt.Errorf("negative numbers mean nothing here")
	}
	return nil
}

// script is the list of faults in force, with a count per fault.
type script struct {
	mu     sync.Mutex
	faults []Fault
	seen   []int // matching requests per fault
}

func (s *script) set(faults []Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append([]Fault(nil), faults...)
	s.seen = make([]int, len(faults))
}

// next counts the request and returns a copy of the fault that strikes it, or nil.
func (s *script) next(r *http.Request, now time.Time) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) == 0 {
		return nil
	}
	query := r.URL.Query()
	var hit *Fault
	for i := range s.faults {
		f := &s.faults[i]
		if !f.looksAt(r.URL, query, now) {
			continue
		}
		s.seen[i]++
		if hit == nil && f.strikes(s.seen[i]) {
			c := *f
			if f.Random && f.Delay > 0 {
				c.Delay = time.Duration(newRandom(int64(i), s.seen[i]).below(int(f.Delay) + 1))
			}
			hit = &c
		}
	}
	return hit
}

func (f *Fault) looksAt(u *url.URL, query url.Values, now time.Time) bool {
	if !strings.HasSuffix(u.Path, f.Path) {
		return false
	}
	if f.MinDays > 0 {
		p, err := parsePeriod(query.Get("date_period"), dayOf(now))
		if err != nil || p.days() < f.MinDays {
			return false
		}
	}
	if f.Query != "" {
		raw, err := url.QueryUnescape(u.RawQuery)
		if err != nil || !strings.Contains(raw, f.Query) {
			return false
		}
	}
	return true
}

// strikes says whether the fault strikes the n-th request that it looks at.
func (f *Fault) strikes(n int) bool {
	since := n - max(f.Nth, 1)
	every := max(f.Every, 1)
	times := f.Times
	if times == 0 && f.Every == 0 {
		times = 1
	}
	return since >= 0 && since%every == 0 && (times == 0 || since/every < times)
}

// SetFaults replaces the fault script; counting starts again at 1. It panics on a fault that Options would refuse.
func (s *Server) SetFaults(faults []Fault) {
	for i := range faults {
		if err := faults[i].validate(); err != nil {
			panic(fmt.Sprintf("set faults: fault %d: %v", i+1, err))
		}
	}
	s.script.set(faults)
}

// faultInstead answers in place of the service, when the request's fault asks for that.
func (s *Server) faultInstead(x *exchange, r *http.Request) bool {
	if x.fault == nil {
		return false
	}
	switch f := x.fault; f.Kind {
	case FaultStatus:
		x.send(scriptedError(f.Status, f.RetryAfter))
		return true
	case FaultHTML:
		x.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = x.Write([]byte("<!doctype html><title>Please stand by</title><p>We will be back, soon.\n"))
		return true
	case FaultEmpty:
		x.Header().Set("Content-Type", "text/csv; charset=utf-8")
		x.WriteHeader(http.StatusOK)
		return true
	case FaultLost:
		if f.Status == 0 {
			reset(x)
			return true
		}
		x.send(scriptedError(f.Status, f.RetryAfter))
		return true
	case FaultReset:
		reset(x)
		return true
	case FaultSlow:
		return sleep(r.Context(), f.Delay) != nil
	default:
		return false
	}
}

// reset drops the connection after a few bytes of the answer's header. Some bytes are sent because net/http silently
// repeats a GET whose kept-alive connection ends before the first byte, and the fault would never be seen.
func reset(x *exchange) {
	conn, rw, err := http.NewResponseController(x).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = conn.Close() }()
	_, _ = rw.WriteString("HTTP/1.1 200 OK\r\n")
	_ = rw.Flush()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // RST instead of FIN
	}
}
