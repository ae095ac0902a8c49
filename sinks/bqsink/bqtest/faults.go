package bqtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

// FaultKind says what a Fault does.
type FaultKind string

// The kinds of faults. The last two change the job that the call makes and leave the call alone.
const (
	FaultStatus  FaultKind = "status"   // refuse the call with Status and Reason; nothing was accepted
	FaultReset   FaultKind = "reset"    // drop the connection before anything was accepted
	FaultLost    FaultKind = "lost"     // do what was asked, then drop the connection instead of answering
	FaultDelay   FaultKind = "delay"    // wait Delay before the call is looked at
	FaultSlowJob FaultKind = "slow job" // the job stays RUNNING for Delay
	FaultFailJob FaultKind = "fail job" // the job ends with Reason and writes nothing
)

// A Fault is one line of a fault script. Call, Method, Path and Job say which calls it looks at; it counts them from 1
// since the script was set and strikes at number Nth (default 1), and then every Every-th, at most Times times (default:
// once, or without end when Every is set). Of several that strike at one call the first is taken.
type Fault struct {
	Call   string `json:"call,omitempty"`   // the call's name, such as "jobs.insert", by whatever way it came; see Request.Call
	Method string `json:"method,omitempty"` // the HTTP method
	Path   string `json:"path,omitempty"`   // the URL's path contains this
	Job    string `json:"job,omitempty"`    // the job ID, as far as the call names one, contains this
	Nth    int    `json:"nth,omitempty"`
	Every  int    `json:"every,omitempty"`
	Times  int    `json:"times,omitempty"`

	Kind    FaultKind     `json:"kind"`
	Status  int           `json:"status,omitempty"`  // FaultStatus: 400 to 599; default the reason's
	Reason  string        `json:"reason,omitempty"`  // FaultStatus, FaultFailJob: such as "backendError"
	Message string        `json:"message,omitempty"` // default: a text that says it was scripted
	Delay   time.Duration `json:"-"`                 // FaultDelay, FaultSlowJob; in JSON "delay": "1.5s"
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
	d.DisallowUnknownFields() // a misspelt fault would strike at any call
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

func (f *Fault) validate() error {
	if f.Nth < 0 || f.Every < 0 || f.Times < 0 || f.Delay < 0 {
		return fmt.Errorf("negative numbers mean nothing here")
	}
	_, known := reasonStatus[f.Reason]
	switch f.Kind {
	case FaultStatus:
		if f.Status == 0 && !known {
			return fmt.Errorf("reason %q has no status of its own; give one", f.Reason)
		}
		if f.Status != 0 && (f.Status < 400 || f.Status > 599) {
			return fmt.Errorf("status %d is not between 400 and 599", f.Status)
		}
	case FaultFailJob:
		if !known {
			return fmt.Errorf("reason %q is not one of BigQuery's", f.Reason)
		}
	case FaultDelay, FaultSlowJob:
		if f.Delay == 0 {
			return fmt.Errorf("%s without a delay", f.Kind)
		}
	case FaultReset, FaultLost:
	default:
		return fmt.Errorf("kind %q is not status, reset, lost, delay, slow job or fail job", f.Kind)
	}
	return nil
}

// statusReasons are the usual reasons of a Status without one.
var statusReasons = map[int]string{
	400: "badRequest", 401: "authError", 403: "accessDenied", 404: "notFound", 409: "duplicate", 412: "conditionNotMet",
	429: "rateLimitExceeded", 500: "internalError", 501: "notImplemented", 502: "backendError", 503: "backendError", 504: "backendError",
}

// refusal is what the fault answers or the job ends with.
func (f *Fault) refusal() *refusal {
	r := &refusal{status: f.Status, reason: f.Reason, message: f.Message}
	if r.status == 0 {
		r.status = reasonStatus[f.Reason]
	}
	if r.reason == "" {
		r.reason = statusReasons[r.status]
	}
	if r.message == "" {
		r.message = strings.TrimSpace(f.Reason + " (scripted)")
	}
	return r
}

// script is the list of faults in force, with a count per fault.
type script struct {
	mu     sync.Mutex
	faults []Fault
	seen   []int // matching calls per fault
}

func (s *script) set(faults []Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append([]Fault(nil), faults...)
	s.seen = make([]int, len(faults))
}

// next counts the call and returns a copy of the fault that strikes it, or nil.
func (s *script) next(c *call) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var hit *Fault
	for i := range s.faults {
		f := &s.faults[i]
		if !f.looksAt(c) {
			continue
		}
		s.seen[i]++
		if hit == nil && f.strikes(s.seen[i]) {
			struck := *f
			hit = &struck
		}
	}
	return hit
}

func (f *Fault) looksAt(c *call) bool {
	return (f.Call == "" || f.Call == c.name) && (f.Method == "" || f.Method == c.r.Method) &&
		strings.Contains(c.r.URL.Path, f.Path) && strings.Contains(c.job, f.Job)
}

// strikes says whether the fault strikes the n-th call that it looks at.
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
func (s *Server) SetFaults(faults ...Fault) {
	for i := range faults {
		if err := faults[i].validate(); err != nil {
			panic(fmt.Sprintf("set faults: fault %d: %v", i+1, err))
		}
	}
	s.script.set(faults)
}
