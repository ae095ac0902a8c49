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

// A reach knows whether anything listens at the service's address. If no connection was made for as
// long as the patience, one request goes on trying, and the others wait for its outcome. When that
// request gives up, each of the others is tried once.
type reach struct {
	attempts int // most attempts of the request that tries alone

	mu            sync.Mutex
	lastConnected time.Time     // when a connection was last made
	lastGaveUp    time.Time     // when a request that tried alone last gave up
	trying        chan struct{} // closed when the request that tries alone has ended; nil if there is none
}

// connected notes that a connection was made.
func (r *reach) connected() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastConnected = time.Now()
}

// endAlone ends the time in which one request tries alone. reached says whether the service was
// reached.
func (r *reach) endAlone(reached bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.trying)
	r.trying = nil
	if !reached {
		r.lastGaveUp = time.Now()
	}
}

// awaitOther waits while another request tries alone.
func (x *exchange) awaitOther() error {
	x.reach.mu.Lock()
	trying := x.reach.trying
	x.reach.mu.Unlock()
	if trying == nil || x.triesAlone {
		return nil
	}
	select {
	case <-trying:
		return nil
	case <-x.ctx.Done():
		return context.Cause(x.ctx)
	}
}

// attemptsAllowed returns how many attempts the request may make in all, after one that found
// nothing listening, and whether nothing can be reached:
//   - all of them, if another request was connected lately;
//   - those of Options.Reach, for the request that tries alone;
//   - one, if a request that tried alone has given up; the others wait for its outcome first.
func (x *exchange) attemptsAllowed() (most int, gone bool) {
	recentlyConnected := func() bool { return time.Since(x.reach.lastConnected) < x.patience }
	x.reach.mu.Lock()
	defer x.reach.mu.Unlock()
	switch {
	case recentlyConnected():
		return x.attempts, false
	case x.reach.trying == nil && !x.triesAlone:
		x.reach.trying, x.triesAlone = make(chan struct{}), true
	case !x.triesAlone:
		x.reach.mu.Unlock()
		err := x.awaitOther()
		x.reach.mu.Lock()
		if err == nil && recentlyConnected() {
			return x.attempts, false
		}
		return 1, true
	}
	if time.Since(x.reach.lastGaveUp) < x.patience {
		return 1, true
	}
	return x.reach.attempts, true
}

// neverConnected reports whether err arose while connecting, and not on a connection.
func neverConnected(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && (dial.Op == "dial" || dial.Op == "proxyconnect") || errors.As(err, new(*proxyError))
}

// A proxyError is the refusal of a proxy to connect to the service. The service itself hasn't
// answered.
type proxyError struct {
	proxy, to string
	status    int
}

func (e *proxyError) Error() string {
	return fmt.Sprintf("the proxy %s makes no connection to %s: %d %s", e.proxy, e.to, e.status,
		http.StatusText(e.status))
}

// final reports whether the proxy won't connect later either, because it asks for a password or
// doesn't allow the address.
func (e *proxyError) final() bool {
	return e.status < http.StatusInternalServerError && e.status != http.StatusRequestTimeout &&
		e.status != http.StatusTooManyRequests
}

// onProxyConnect turns a proxy's refusal to connect into a proxyError.
func onProxyConnect(_ context.Context, proxy *url.URL, asked *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyError{proxy.Host, asked.Host, answer.StatusCode}
}
