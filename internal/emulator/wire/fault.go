package wire

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/reportferry/reportferry/internal/faults"
)

// FaultKind says what a fault does.
type FaultKind string

// The kinds of faults.
const (
	FaultStatus FaultKind = "status" // answer Fault.Status with the service's error body
	FaultSlow   FaultKind = "slow"   // wait Fault.Delay before the first byte, then answer as ever
	// End the connection within a row, after Fault.AfterBytes bytes of uncompressed body.
	FaultCut   FaultKind = "cut"
	FaultReset FaultKind = "reset" // drop the connection in the middle of the answer's header
	FaultDrift FaultKind = "drift" // change a report's columns: Fault.Drift
	FaultHTML  FaultKind = "html"  // answer 200 text/html
	FaultEmpty FaultKind = "empty" // answer 200 text/csv without a byte
	FaultLost  FaultKind = "lost"  // do what was asked, then drop the connection, or answer Fault.Status if it is set
)

// Ways in which the columns of a report drift, in CSV, JSON and Parquet.
const (
	DriftRename  = "rename"  // Column (default: the last) is named "<column>_v2"
	DriftMissing = "missing" // Column (default: the last) is left out, cells too
	DriftExtra   = "extra"   // a column "extra" of zeros is appended
)

// Fault is one line of a fault script. Path, MinDays and Query select the requests that it may
// apply to; admin calls are never selected. Nth, Every and Times choose among those, see
// faults.Schedule. If several faults apply to one request, the first of them is used.
//
// A silent fault changes only the content of a report, so that the answer still looks right. Of
// says which reports it applies to. One that hides an app applies to all of them, and also takes
// the app out of the lists of apps and events.
//
// When a fault answers in place of a report, the report isn't computed. The other endpoints carry
// out the request under slow, cut, empty and lost, and don't under status, reset and html; they
// ignore drift.
type Fault struct {
	Nth     int    `json:"nth,omitempty"`
	Every   int    `json:"every,omitempty"`
	Times   int    `json:"times,omitempty"`
	Path    string `json:"path,omitempty"`     // the path's end, such as "csv_report"; "" is any
	MinDays int    `json:"min_days,omitempty"` // only requests whose date_period has at least so many days
	Query   string `json:"query,omitempty"`    // only requests whose decoded query contains this

	Kind       FaultKind     `json:"kind"`
	Status     int           `json:"status,omitempty"`      // kinds status, lost: 400 to 599
	RetryAfter int           `json:"retry_after,omitempty"` // kinds status, lost: seconds; 0 sends no Retry-After
	Delay      time.Duration `json:"-"`                     // kind slow; in JSON "delay": "1.5s"
	// Kind slow: wait a random time of at most Delay, the same in each run.
	Random     bool   `json:"random,omitempty"`
	AfterBytes int64  `json:"after_bytes,omitempty"` // kind cut
	Drift      string `json:"drift,omitempty"`       // kind drift
	Column     string `json:"column,omitempty"`      // kinds drift, halve

	Of       string            `json:"of,omitempty"`        // silent faults but hide_app: OfRows, OfTotals or OfAny
	Where    map[string]string `json:"where,omitempty"`     // only rows that have these values in these dimensions
	EveryRow int               `json:"every_row,omitempty"` // only each k-th of them, the k-th first
	Rows     int               `json:"rows,omitempty"`      // kind cut_rows
	Day      string            `json:"day,omitempty"`       // kind drop_day: YYYY-MM-DD
	App      string            `json:"app,omitempty"`       // kind drop_app: the app's token
}

// plainFault is a Fault whose JSON has no delay: see MarshalJSON.
type plainFault Fault

// MarshalJSON writes the fault with its delay as text, such as "1.5s".
func (f Fault) MarshalJSON() ([]byte, error) { return faults.Marshal(plainFault(f), f.Delay) }

// UnmarshalJSON reads what MarshalJSON writes; a field that no fault has is an error.
func (f *Fault) UnmarshalJSON(b []byte) (err error) {
	*f = Fault{}
	f.Delay, err = faults.Unmarshal(b, (*plainFault)(f))
	return err
}

// Schedule implements faults.Fault.
func (f Fault) Schedule() faults.Schedule {
	return faults.Schedule{Nth: f.Nth, Every: f.Every, Times: f.Times}
}

// Validate implements faults.Fault.
func (f Fault) Validate() error {
	switch f.Kind {
	case FaultStatus, FaultLost:
		if (f.Status != 0 || f.Kind == FaultStatus) && (f.Status < 400 || f.Status > 599) {
			return fmt.Errorf("status %d is not between 400 and 599", f.Status)
		}
	case FaultDrift:
		if f.Drift != DriftRename && f.Drift != DriftMissing && f.Drift != DriftExtra {
			return fmt.Errorf("drift %q is not rename, missing or extra", f.Drift)
		}
	case FaultSlow, FaultCut, FaultReset, FaultHTML, FaultEmpty:
	default:
		if !f.Silent() {
			return fmt.Errorf("kind %q is not status, slow, cut, reset, drift, html, empty, lost, "+
				"drop_rows, double_rows, halve, drop_day, cut_rows, drop_app or hide_app", f.Kind)
		}
	}
	if f.MinDays < 0 || f.AfterBytes < 0 || f.Delay < 0 || f.RetryAfter < 0 || f.EveryRow < 0 || f.Rows < 0 {
		return faults.ErrNegative
	}
	return f.validateSilent()
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

// Refuses reports whether the fault answers before anything is done.
func (f *Fault) Refuses() bool {
	return f != nil && (f.Kind == FaultStatus || f.Kind == FaultHTML || f.Kind == FaultReset)
}

// Drifts reports whether the fault changes a report's columns in this way.
func (f *Fault) Drifts(how string) bool { return f != nil && f.Kind == FaultDrift && f.Drift == how }

// Instead applies the request's fault before a report is computed. It returns true when the fault
// has answered, and no report is needed. That includes lost: a report has no effect to carry out.
func (x *Exchange) Instead(r *http.Request) (answered bool) {
	if x.Fault == nil {
		return false
	}
	switch f := x.Fault; f.Kind {
	case FaultEmpty:
		x.Header().Set("Content-Type", CSV)
		x.WriteHeader(http.StatusOK)
		return true
	case FaultLost:
		x.Deliver(Reply{}, ScriptedError)
		return true
	case FaultSlow:
		return faults.Sleep(r.Context(), f.Delay) != nil
	default:
		return x.Struck(r, ScriptedError)
	}
}

// Struck applies the request's fault before an endpoint that changes something does its work. It
// returns true when the fault has answered, and nothing may be done. say makes the error's body.
func (x *Exchange) Struck(r *http.Request, say errorMaker) (answered bool) {
	if x.Fault == nil {
		return false
	}
	switch f := x.Fault; f.Kind {
	case FaultStatus:
		x.send(say(f.Status, f.RetryAfter))
		return true
	case FaultHTML:
		x.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = x.Write([]byte("<!doctype html><title>Please stand by</title><p>We will be back, soon.\n"))
		return true
	case FaultReset:
		faults.Drop(x)
		return true
	case FaultSlow:
		x.pause(r, f.Delay)
	}
	return false
}

// Deliver sends the reply of an endpoint that has done its work. The faults lost, empty and cut
// take effect here.
func (x *Exchange) Deliver(a Reply, say errorMaker) {
	f := x.Fault
	if f == nil {
		f = &Fault{}
	}
	switch {
	case f.Kind == FaultLost && f.Status == 0, f.Kind == FaultCut &&
		len(a.Body) == 0: // nothing of an empty answer comes before the cut
		faults.Drop(x)
	case f.Kind == FaultLost:
		x.send(say(f.Status, f.RetryAfter))
	case f.Kind == FaultEmpty:
		x.WriteHeader(a.Status)
	case f.Kind == FaultCut:
		n := min(max(int(f.AfterBytes), 1), len(a.Body)-1)
		x.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
		x.Header().Set("Content-Type", a.ContentType)
		x.WriteHeader(a.Status)
		_, _ = x.Write(a.Body[:n])
		_ = http.NewResponseController(x).Flush()
		panic(http.ErrAbortHandler)
	default:
		x.send(a)
	}
}
