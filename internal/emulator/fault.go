package emulator

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/reportferry/reportferry/internal/faults"
)

// faultKind says what a fault does.
type faultKind string

// The kinds of faults.
const (
	faultStatus faultKind = "status" // answer Fault.Status with the service's error body
	faultSlow   faultKind = "slow"   // wait Fault.Delay before the first byte, then answer as ever
	faultCut    faultKind = "cut"    // end the connection within a row, after Fault.AfterBytes bytes of uncompressed body
	faultReset  faultKind = "reset"  // drop the connection in the middle of the answer's header
	faultDrift  faultKind = "drift"  // change a report's columns: Fault.Drift
	faultHTML   faultKind = "html"   // answer 200 text/html
	faultEmpty  faultKind = "empty"  // answer 200 text/csv without a byte
	faultLost   faultKind = "lost"   // do what was asked, then drop the connection, or answer Fault.Status if it is set
)

// Ways in which the columns of a report drift, in CSV, JSON and Parquet.
const (
	driftRename  = "rename"  // Column (default: the last) is named "<column>_v2"
	driftMissing = "missing" // Column (default: the last) is left out, cells too
	driftExtra   = "extra"   // a column "extra" of zeros is appended
)

// fault is one line of a fault script. Path, MinDays and Query say which requests it looks at, all but admin calls; Nth,
// Every and Times say which of those it strikes, see faults.Schedule. Of several that strike at one request the first
// is taken.
//
// A report is never made under a fault that answers in its place. The other endpoints do what is asked under slow, cut,
// empty and lost, and don't under status, reset and html; drift means nothing to them.
type fault struct {
	Nth     int    `json:"nth,omitempty"`
	Every   int    `json:"every,omitempty"`
	Times   int    `json:"times,omitempty"`
	Path    string `json:"path,omitempty"`     // the path's end, such as "csv_report"; "" is any
	MinDays int    `json:"min_days,omitempty"` // only requests whose date_period has at least so many days
	Query   string `json:"query,omitempty"`    // only requests whose decoded query contains this

	Kind       faultKind     `json:"kind"`
	Status     int           `json:"status,omitempty"`      // faultStatus, faultLost: 400 to 599
	RetryAfter int           `json:"retry_after,omitempty"` // faultStatus: seconds; 0 sends no Retry-After
	Delay      time.Duration `json:"-"`                     // faultSlow; in JSON "delay": "1.5s"
	Random     bool          `json:"random,omitempty"`      // faultSlow: wait anything up to Delay, the same in each run
	AfterBytes int64         `json:"after_bytes,omitempty"` // faultCut
	Drift      string        `json:"drift,omitempty"`       // faultDrift
	Column     string        `json:"column,omitempty"`      // faultDrift
}

type plainFault fault

// MarshalJSON writes the fault with its delay as text, such as "1.5s".
func (f fault) MarshalJSON() ([]byte, error) { return faults.Marshal(plainFault(f), f.Delay) }

// UnmarshalJSON reads what MarshalJSON writes; a field that no fault has is an error.
func (f *fault) UnmarshalJSON(b []byte) (err error) {
	*f = fault{}
	f.Delay, err = faults.Unmarshal(b, (*plainFault)(f))
	return err
}

// Schedule implements faults.Fault.
func (f fault) Schedule() faults.Schedule {
	return faults.Schedule{Nth: f.Nth, Every: f.Every, Times: f.Times}
}

// Validate implements faults.Fault.
func (f fault) Validate() error {
	switch f.Kind {
	case faultStatus, faultLost:
		if (f.Status != 0 || f.Kind == faultStatus) && (f.Status < 400 || f.Status > 599) {
			return fmt.Errorf("status %d is not between 400 and 599", f.Status)
		}
	case faultDrift:
		if f.Drift != driftRename && f.Drift != driftMissing && f.Drift != driftExtra {
			return fmt.Errorf("drift %q is not rename, missing or extra", f.Drift)
		}
	case faultSlow, faultCut, faultReset, faultHTML, faultEmpty:
	default:
		return fmt.Errorf("kind %q is not status, slow, cut, reset, drift, html, empty or lost", f.Kind)
	}
	if f.MinDays < 0 || f.AfterBytes < 0 || f.Delay < 0 || f.RetryAfter < 0 {
		return faults.ErrNegative
	}
	return nil
}

// String names the fault for the request log.
func (f *fault) String() string {
	switch f.Kind {
	case faultStatus:
		return fmt.Sprint(f.Status)
	case faultDrift:
		return string(f.Kind) + " " + f.Drift
	default:
		return string(f.Kind)
	}
}

// refuses reports whether the fault answers before anything is done.
func (f *fault) refuses() bool {
	return f != nil && (f.Kind == faultStatus || f.Kind == faultHTML || f.Kind == faultReset)
}

// drifts reports whether the fault changes a report's columns in this way.
func (f *fault) drifts(how string) bool { return f != nil && f.Kind == faultDrift && f.Drift == how }

// instead answers a request for a report in place of the endpoint, when the request's fault asks for that. A report
// changes nothing, so that a lost one needn't be made.
func (x *exchange) instead(r *http.Request) (answered bool) {
	if x.fault == nil {
		return false
	}
	switch f := x.fault; f.Kind {
	case faultEmpty:
		x.Header().Set("Content-Type", csvType)
		x.WriteHeader(http.StatusOK)
		return true
	case faultLost:
		x.deliver(reply{}, scriptedError)
		return true
	case faultSlow:
		return faults.Sleep(r.Context(), f.Delay) != nil
	default:
		return x.struck(r, scriptedError)
	}
}

// struck answers in place of an endpoint that would change something, when the request's fault asks for that: nothing is
// done then.
func (x *exchange) struck(r *http.Request, say scripted) (answered bool) {
	if x.fault == nil {
		return false
	}
	switch f := x.fault; f.Kind {
	case faultStatus:
		x.send(say(f.Status, f.RetryAfter))
		return true
	case faultHTML:
		x.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = x.Write([]byte("<!doctype html><title>Please stand by</title><p>We will be back, soon.\n"))
		return true
	case faultReset:
		faults.Drop(x)
		return true
	case faultSlow:
		x.pause(r, f.Delay)
	}
	return false
}

// deliver sends the answer of what was done, or what the request's fault makes of it.
func (x *exchange) deliver(a reply, say scripted) {
	f := x.fault
	if f == nil {
		f = &fault{}
	}
	switch {
	case f.Kind == faultLost && f.Status == 0:
		faults.Drop(x)
	case f.Kind == faultLost:
		x.send(say(f.Status, f.RetryAfter))
	case f.Kind == faultEmpty:
		x.WriteHeader(a.status)
	case f.Kind == faultCut:
		n := min(max(int(f.AfterBytes), 1), len(a.body)-1)
		x.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
		x.Header().Set("Content-Type", a.contentType)
		x.WriteHeader(a.status)
		_, _ = x.Write(a.body[:n])
		_ = http.NewResponseController(x).Flush()
		panic(http.ErrAbortHandler)
	default:
		x.send(a)
	}
}
