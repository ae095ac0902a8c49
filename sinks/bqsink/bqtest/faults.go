package bqtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/faults"
)

// FaultKind says what a Fault does.
type FaultKind string

// The kinds of faults. The last two change the job that the call makes; the call itself is
// answered.
const (
	FaultStatus  FaultKind = "status"   // refuse the call with Status and Reason; nothing was accepted
	FaultReset   FaultKind = "reset"    // drop the connection before anything was accepted
	FaultLost    FaultKind = "lost"     // do what was asked, then drop the connection instead of answering
	FaultDelay   FaultKind = "delay"    // wait Delay before the call is looked at
	FaultSlowJob FaultKind = "slow job" // the job stays RUNNING for Delay
	FaultFailJob FaultKind = "fail job" // the job ends with Reason and writes nothing
)

// A Fault is one line of a fault script. Call and Job say which calls it may strike, and Nth, Every
// and Times which of these it does strike: see faults.Schedule. When several faults strike one
// call, the first is taken.
type Fault struct {
	Call  string // the call's name, such as "jobs.insert", see Request.Call; empty for any call
	Job   string // a part of the job ID that the call names
	Nth   int
	Every int
	Times int

	Kind    FaultKind
	Status  int           // FaultStatus: 400 to 599; default the reason's
	Reason  string        // FaultStatus, FaultFailJob: such as "backendError"
	Message string        // default: a text that says it was scripted
	Delay   time.Duration // FaultDelay, FaultSlowJob
}

// Schedule returns which of the calls that the fault may strike are struck by it.
func (f Fault) Schedule() faults.Schedule {
	return faults.Schedule{Nth: f.Nth, Every: f.Every, Times: f.Times}
}

// Validate returns an error for a fault that means nothing.
func (f Fault) Validate() error {
	if f.Delay < 0 {
		return faults.ErrNegative
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

// statusReasons has the usual reason of each status, for a fault without a reason.
var statusReasons = map[int]string{
	400: "badRequest", 401: "authError", 403: "accessDenied", 404: "notFound", 409: "duplicate", 412: "conditionNotMet",
	429: "rateLimitExceeded", 500: "internalError", 501: "notImplemented", 502: "backendError", 503: "backendError",
	504: "backendError",
}

// refusal returns what the call is answered with, or the job ends with.
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

// mayStrike reports whether a call is one of those that the fault may strike.
func (f Fault) mayStrike(c *call) bool {
	return (f.Call == "" || f.Call == c.name) && strings.Contains(c.job, f.Job)
}

// SetFaults replaces the fault script; counting starts again at 1. It panics on a fault that
// Options would refuse.
func (s *Server) SetFaults(list ...Fault) {
	if err := s.script.Set(list); err != nil {
		panic(fmt.Sprintf("set faults: %v", err))
	}
}
