package transport

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Waits holds what requests wait for at the moment, to show it to people. Meter has the sums.
type Waits struct {
	mu   sync.Mutex
	list map[*wait]struct{}
}

// A wait is one request that waits.
type wait struct {
	waits *Waits // nil when the wait isn't shown
	until time.Time
	why   string // a status or a few words; empty for a wait for the limiter
}

// Now returns the longest remaining wait for the limiter, and the longest remaining back-off with
// its reason: a status or a few words. A pause that the service asked for counts as a back-off of
// all requests that it holds back.
func (w *Waits) Now() (limiter, backoff time.Duration, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.list {
		left := time.Until(one.until)
		switch {
		case one.why == "":
			limiter = max(limiter, left)
		case left > backoff:
			backoff, why = left, one.why
		}
	}
	return limiter, backoff, why
}

// set records until when the request waits, and why.
func (o *wait) set(until time.Time, why string) {
	if o.waits == nil {
		o.why = why
		return
	}
	o.waits.mu.Lock()
	defer o.waits.mu.Unlock()
	if o.waits.list == nil {
		o.waits.list = map[*wait]struct{}{}
	}
	o.until, o.why = until, why
	o.waits.list[o] = struct{}{}
}

// end records that the request waits no more.
func (o *wait) end() {
	if o.waits == nil {
		return
	}
	o.waits.mu.Lock()
	defer o.waits.mu.Unlock()
	delete(o.waits.list, o)
}

// brief returns the failure in a word or two.
func (f *failure) brief() string {
	switch f.status {
	case 0:
		return "no answer"
	case http.StatusOK:
		return "bad answer"
	}
	return strconv.Itoa(f.status)
}
