package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// A reach knows whether anything listens where requests go. Where nothing does, and nothing has for
// as long as the patience, one request goes on trying, and the others wait for what comes of that.
// When it is given up, each of them is tried once.
type reach struct {
	attempts int // of the request that tries

	mu     sync.Mutex
	heard  time.Time     // when a connection was last there
	given  time.Time     // when the last request was given up that had tried alone
	trying chan struct{} // closed when the request that tries alone is over; nil: none does
}

// here notes that there was a connection.
func (r *reach) here() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = time.Now()
}

// leave ends the time in which one request tries alone, and notes whether it was given up.
func (r *reach) leave(there bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.trying)
	r.trying = nil
	if !there {
		r.given = time.Now()
	}
}

// await waits while another request tries alone.
func (x *exchange) await() error {
	x.reach.mu.Lock()
	trying := x.reach.trying
	x.reach.mu.Unlock()
	if trying == nil || x.alone {
		return nil
	}
	select {
	case <-trying:
		return nil
	case <-x.ctx.Done():
		return context.Cause(x.ctx)
	}
}

// listens says how often the request may be tried in all, after an attempt that met nobody, and
// whether others would fare no better. It may wait for what comes of another's attempts.
func (x *exchange) listens() (most int, gone bool) {
	met := func() bool { return time.Since(x.reach.heard) < x.patience }
	x.reach.mu.Lock()
	defer x.reach.mu.Unlock()
	switch {
	case met():
		return x.attempts, false
	case x.reach.trying == nil && !x.alone:
		x.reach.trying, x.alone = make(chan struct{}), true
	case !x.alone:
		x.reach.mu.Unlock()
		err := x.await()
		x.reach.mu.Lock()
		if err == nil && met() {
			return x.attempts, false
		}
		return 1, true
	}
	if time.Since(x.reach.given) < x.patience {
		return 1, true
	}
	return x.reach.attempts, true
}

// unreached tells an error of making a connection from one of a connection.
func unreached(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && (dial.Op == "dial" || dial.Op == "proxyconnect") || errors.As(err, new(*proxyError))
}

// A proxyError is the answer of a proxy that makes no connection to the service. The service itself
// has said nothing.
type proxyError struct {
	proxy, to string
	status    int
}

func (e *proxyError) Error() string {
	return fmt.Sprintf("the proxy %s makes no connection to %s: %d %s", e.proxy, e.to, e.status,
		http.StatusText(e.status))
}

// final tells whether the proxy won't connect later either: it asks for a password, or doesn't
// allow the address.
func (e *proxyError) final() bool {
	return e.status < http.StatusInternalServerError && e.status != http.StatusRequestTimeout &&
		e.status != http.StatusTooManyRequests
}

// tunnel looks at the answer of a proxy that was asked for a connection.
func tunnel(_ context.Context, proxy *url.URL, asked *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyError{proxy.Host, asked.Host, answer.StatusCode}
}
