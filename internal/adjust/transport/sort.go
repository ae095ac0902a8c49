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

// sort decides by an answer that isn't accepted whether another attempt may help:
//
//	the endpoint's own verdict     no
//	3xx, other 4xx                 no
//	401, 403                       no; a credential that has changed is tried once
//	429, 503                       yes, after the pause that it asks for; nothing was taken
//	408, 5xx                       yes; a record may have been taken. 504, and a 500 of TimeoutError, are overload
//	501, 505, other 2xx            no; a record may have been taken
func (x *exchange) sort(resp *http.Response, text string) *failure {
	s := resp.StatusCode
	f := &failure{status: s, away: x.away(resp)}
	var wrong []Field
	f.code, f.message, wrong = words(text, x.veil.scrub)
	whole := withFields(f.message, wrong)
	if x.Verdict != nil {
		if err := x.Verdict(s, whole); err != nil {
			f.final, f.err, f.verdict, f.message = true, err, !errors.Is(err, ErrAuth), whole
			return f
		}
	}
	if wrong != nil || s == http.StatusUnprocessableEntity {
		f.err = &ValidationError{wrong}
	}
	switch {
	case s == http.StatusUnauthorized, s == http.StatusForbidden, s < 400 && s >= 300:
		f.message = whole // its error is another one
	}
	switch {
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		f.final, f.err = true, x.denied(f, resp)
	case s == http.StatusTooManyRequests, s == http.StatusServiceUnavailable:
		x.throttled(f, resp.Header)
	case s == http.StatusGatewayTimeout, s == http.StatusInternalServerError && strings.Contains(whole, "TimeoutError"):
		f.slow, f.overload = true, s == http.StatusInternalServerError
		x.lost(f)
	case s == http.StatusNotImplemented, s == http.StatusHTTPVersionNotSupported, s < 300:
		f.final = !x.record()
		x.lost(f)
	case s == http.StatusRequestTimeout, s >= 500:
		x.lost(f)
	case s < 400:
		f.final, f.err = true, errRedirect
		if to, err := resp.Location(); err == nil {
			f.err = fmt.Errorf("%w: it leads to %s", errRedirect, x.bare(to))
		}
	default:
		f.final = true
		if s == http.StatusNotFound {
			f.at = x.bare(resp.Request.URL)
		}
	}
	return f
}

// bare is an address without what may be secret in it, or else the one that is asked for.
func (x *exchange) bare(at *url.URL) string {
	if at == nil {
		var err error
		if at, err = url.Parse(x.URL); err != nil {
			return ""
		}
	}
	return x.veil.scrub((&url.URL{Scheme: at.Scheme, Host: at.Host, Path: at.Path}).String())
}

// away tells whether a redirect has led to another host.
func (x *exchange) away(resp *http.Response) bool {
	asked, err := url.Parse(x.URL)
	return err != nil || !sameHost(resp.Request.URL, asked)
}

// denied says in the endpoint's words that the credential, or what it may do, doesn't suffice.
func (x *exchange) denied(f *failure, resp *http.Response) error {
	switch {
	case f.away:
		return fmt.Errorf("answered by %s after a redirect, where no token is sent: %w", resp.Request.URL.Host, ErrAuth)
	case x.Credential != nil && x.Credential.Denied != nil:
		return x.Credential.Denied
	case f.status == http.StatusUnauthorized:
		return errUnauthorized
	}
	return ErrAuth
}

// errUnauthorized is a 401. Authors of other clients saw the same words, "It is impossible to check
// account ownership!", for each of the three.
var errUnauthorized = &Refusal{"the service says so of an unknown token, of another account and of foreign app " +
	"tokens: " +
	"check service.token, service.account_id and app_token__in", ErrAuth}

// throttled takes note of a 429 or a 503 and of the pause that it asks for. A 503 says nothing of
// the rate.
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

// longestPause is what a longer one is taken for, also one that no number holds.
const longestPause = 1e6 * time.Second

// retryAfter reads both forms of the header (RFC 9110, section 10.2.3). A date counts from the
// server's own clock.
func retryAfter(h http.Header) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	s, err := strconv.ParseInt(v, 10, 64) // of a number that is too large, the largest, with its sign
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
