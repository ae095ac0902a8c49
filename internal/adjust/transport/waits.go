package transport

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Waits are what requests wait for at the moment, for people who look on. Meter has the sums.
type Waits struct {
	mu   sync.Mutex
	list map[*wait]struct{}
}

// A wait is one request that waits.
type wait struct {
	of    *Waits // nil: nobody looks
	until time.Time
	why   string // empty: for its turn at the limiter
}

// Now gives the longest wait for the limiter that is left, and the longest back-off with its
// reason: a status or a few words. A pause that the service asks for is a back-off of all requests
// that it holds back.
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

// till notes until when the request waits, and why.
func (o *wait) till(until time.Time, why string) {
	if o.of == nil {
		o.why = why
		return
	}
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	if o.of.list == nil {
		o.of.list = map[*wait]struct{}{}
	}
	o.until, o.why = until, why
	o.of.list[o] = struct{}{}
}

// over notes that the request waits no more.
func (o *wait) over() {
	if o.of == nil {
		return
	}
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	delete(o.of.list, o)
}

// brief is the failure in a word or two.
func (f *failure) brief() string {
	switch f.status {
	case 0:
		return "no answer"
	case http.StatusOK:
		return "bad answer"
	}
	return strconv.Itoa(f.status)
}
