package transport

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// classify decides, by an answer that isn't accepted, whether another attempt may help:
//
//	the endpoint's own error       no
//	3xx, other 4xx                 no
//	401, 403                       no; a credential that has changed is tried once
//	429, 503                       yes, after the pause that it asks for; nothing was taken
//	408, 5xx                       yes; a record may have been taken. A 504 and a 500 of TimeoutError are slow
//	                               answers; the 500 is overload, too
//	501, 505, other 2xx            only for a record that may be repeated; it may have been taken
//
// Slow answers lower the number of reports at once, see reportCap.
func (x *exchange) classify(resp *http.Response, text string) *failure {
	s := resp.StatusCode
	f := &failure{status: s, fromOtherHost: x.fromOtherHost(resp)}
	// Read the body, and let the endpoint decide first.
	var wrong []Field
	f.code, f.message, wrong = parseError(text, x.scrubber.scrub)
	whole := withFields(f.message, wrong)
	if x.Verdict != nil {
		if err := x.Verdict(s, whole); err != nil {
			f.final, f.err, f.conclusive, f.message = true, err, !errors.Is(err, ErrAuth), whole
			return f
		}
	}
	// Choose what the error shows of the faulty fields.
	if wrong != nil || s == http.StatusUnprocessableEntity {
		f.err = &ValidationError{wrong}
	}
	switch {
	case s == http.StatusUnauthorized, s == http.StatusForbidden, s < 400 && s >= 300:
		f.message = whole // f.err isn't the ValidationError that would show the fields
	}
	// Decide by the status, as the table says.
	switch {
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		f.final, f.err = true, x.denied(f, resp)
	case s == http.StatusTooManyRequests, s == http.StatusServiceUnavailable:
		x.throttled(f, resp.Header)
	case s == http.StatusGatewayTimeout, s == http.StatusInternalServerError && strings.Contains(whole, "TimeoutError"):
		f.slow, f.overload = true, s == http.StatusInternalServerError
		x.noteMaybeTaken(f)
	case s == http.StatusNotImplemented, s == http.StatusHTTPVersionNotSupported, s < 300:
		f.final = !x.record()
		x.noteMaybeTaken(f)
	case s == http.StatusRequestTimeout, s >= 500:
		x.noteMaybeTaken(f)
	case s < 400:
		f.final, f.err = true, errRedirect
		if to, err := resp.Location(); err == nil {
			f.err = fmt.Errorf("%w: it leads to %s", errRedirect, x.bareAddress(to))
		}
	default:
		f.final = true
		if s == http.StatusNotFound {
			f.address = x.bareAddress(resp.Request.URL)
		}
	}
	return f
}

// bareAddress returns an address without parts that may be secret. For nil it uses the request's
// address.
func (x *exchange) bareAddress(at *url.URL) string {
	if at == nil {
		var err error
		if at, err = url.Parse(x.URL); err != nil {
			return ""
		}
	}
	return x.scrubber.scrub((&url.URL{Scheme: at.Scheme, Host: at.Host, Path: at.Path}).String())
}

// fromOtherHost reports whether a redirect has led to another host.
func (x *exchange) fromOtherHost(resp *http.Response) bool {
	asked, err := url.Parse(x.URL)
	return err != nil || !sameHost(resp.Request.URL, asked)
}

// denied returns the error for a 401 or 403, in the endpoint's words if it has some.
func (x *exchange) denied(f *failure, resp *http.Response) error {
	switch {
	case f.fromOtherHost:
		return fmt.Errorf("answered by %s after a redirect, where no token is sent: %w", resp.Request.URL.Host, ErrAuth)
	case x.Credential != nil && x.Credential.Denied != nil:
		return x.Credential.Denied
	case f.status == http.StatusUnauthorized:
		return errUnauthorized
	}
	return ErrAuth
}

// errUnauthorized is the error for a 401. Authors of other clients saw the same words, "It is
// impossible to check account ownership!", for each of the three causes.
var errUnauthorized = &Refusal{"the service says so of an unknown token, of another account and of foreign app " +
	"tokens: " +
	"check service.token, service.account_id and app_token__in", ErrAuth}

// throttled passes a 429 or a 503, and the pause that it asks for, to the limiter. A 503 without a
// pause changes nothing, because it says nothing about the rate.
func (x *exchange) throttled(f *failure, h http.Header) {
	if f.pause = retryAfter(h); f.pause > 0 {
		f.err = fmt.Errorf("Retry-After asks to wait %v", Round(f.pause))
	}
	shared := min(f.pause, x.patience)
	switch {
	case f.status == http.StatusTooManyRequests:
		x.limiter.throttled(time.Now(), shared)
	case shared > 0:
		x.limiter.paused(time.Now(), shared)
	}
}

// longestPause replaces any longer pause, also one that fits no integer.
const longestPause = 1e6 * time.Second

// retryAfter returns the pause that the header Retry-After asks for, in either form (RFC 9110,
// section 10.2.3). A date is compared with the server's own clock, the header Date.
func retryAfter(h http.Header) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	s, err := strconv.ParseInt(v, 10, 64) // for a number that is too large, s is the largest, with its sign
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(max(0, min(s, int64(longestPause/time.Second)))) * time.Second
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, min(at.Sub(now), longestPause))
}
