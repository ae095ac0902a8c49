package adjust

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A failure is what came of one attempt.
type failure struct {
	status        int
	code, message string
	err           error
	final         bool          // asking again can't help
	slow          bool          // 504 or a time-out
	away          bool          // answered by a host that a redirect led to
	reader        bool          // err is the reader's own
	pause         time.Duration // what Retry-After asks for
}

func (f *failure) Error() string { return outcome(f.status, f.code, f.message, f.err) }

// send makes one attempt and reads its answer; nil means that the answer was accepted. A kept connection that turns out
// to be closed is replaced by net/http itself, within the attempt.
func (t *tries) send(token string) *failure {
	t.secrets.add(token)
	ctx, end := context.WithCancelCause(t.budget)
	defer end(nil)
	first := t.firstByte
	if t.private {
		first = min(first, automationWait)
	}
	w := newWatch(end, first, t.idle)
	defer w.stop()

	var body io.Reader
	if t.body != nil {
		body = bytes.NewReader(t.body)
	}
	req, err := http.NewRequestWithContext(ctx, orElse(t.method, http.MethodGet), t.url, body)
	if err != nil {
		return &failure{final: true, err: t.veil.scrubError(err)}
	}
	if t.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if t.account != "" {
		req.Header.Set("X-Account-ID", t.account)
	}
	req.Header.Set("Accept", t.types[0])
	req.Header.Set("Accept-Encoding", "gzip")
	req.Header.Set("User-Agent", t.agent)

	t.answer.Attempts++
	t.meter.Requests.Add(1)
	if t.answer.Attempts == 1 {
		t.answer.Started = time.Now()
	} else {
		t.meter.Retries.Add(1)
	}
	sent := time.Now()
	resp, err := t.http.Do(req)
	if err != nil {
		return t.broken(ctx, 0, err)
	}
	defer func() { _ = resp.Body.Close() }() // what reading it had to say is known by then
	if resp.StatusCode < http.StatusMultipleChoices {
		if err := t.look(resp.Header, sent, false); err != nil {
			return &failure{final: true, err: err}
		}
	}
	if resp.StatusCode == http.StatusNoContent {
		t.answer.Empty = true
		return nil
	}
	b := openBody(resp, w)
	if resp.StatusCode != http.StatusOK {
		return t.refused(resp, b)
	}
	return t.accept(ctx, resp, b)
}

// accept gives a 200 to the reader.
func (t *tries) accept(ctx context.Context, resp *http.Response, b *body) *failure {
	if err := checkType(resp, t.types); err != nil {
		f := &failure{status: http.StatusOK, err: t.veil.scrubError(err)}
		if !t.private {
			_, f.message, _ = words(errorText(b), t.veil.scrub)
		}
		return f
	}
	if err := checkEnd(resp); err != nil {
		return &failure{status: http.StatusOK, err: err}
	}
	if t.csv {
		b.count = &t.meter.Bytes
	}
	err := b.feed(t.never, t.read)
	switch {
	case b.broken != nil: // whatever the reader made of it
		return t.broken(ctx, http.StatusOK, b.broken)
	case err != nil:
		return &failure{status: http.StatusOK, final: true, reader: true, err: t.veil.scrubError(err)}
	}
	t.answer.Bytes = b.n
	return nil
}

// refused sorts the answers that aren't 200 or 204.
func (t *tries) refused(resp *http.Response, b *body) *failure {
	f := &failure{status: resp.StatusCode, away: !sameHost(resp.Request.URL, t.base)}
	var wrong []Field
	if f.code, f.message, wrong = words(errorText(b), t.veil.scrub); wrong != nil || f.status == http.StatusUnprocessableEntity {
		f.err = &ValidationError{wrong}
	}
	switch s := resp.StatusCode; {
	case s >= 300 && s < 400:
		f.final, f.err = true, errRedirect
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		f.final, f.err = true, t.denied
		if f.err == nil {
			f.err = ErrAuth
		}
		if f.away {
			f.err = fmt.Errorf("answered by %s after a redirect, where no token is sent: %w", resp.Request.URL.Host, ErrAuth)
		}
	case s == http.StatusTooManyRequests, s == http.StatusServiceUnavailable:
		f.throttled(t.Client, resp.Header)
	case s == http.StatusGatewayTimeout:
		f.slow = true
	case s == http.StatusRequestTimeout:
	case t.private && absent(s, f.message):
		f.final, f.err = true, ErrNotFound
	case s < 500, s == http.StatusNotImplemented, s == http.StatusHTTPVersionNotSupported:
		f.final = true
	}
	return f
}

// throttled takes note of a 429 or a 503 and of the pause that it asks for. A 503 says nothing of the rate.
func (f *failure) throttled(c *Client, h http.Header) {
	if f.pause = retryAfter(h); f.pause > 0 {
		f.err = fmt.Errorf("Retry-After asks to wait %v", round(f.pause))
	}
	shared := min(f.pause, c.patience)
	switch {
	case f.status == http.StatusTooManyRequests:
		c.limiter.throttled(time.Now(), shared)
	case shared > 0:
		c.limiter.paused(time.Now(), shared)
	}
}

// broken is an attempt without an answer, or with half of one. ctx is the attempt's.
func (t *tries) broken(ctx context.Context, status int, err error) *failure {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	var untrusted *tls.CertificateVerificationError
	return &failure{
		status: status,
		err:    t.veil.scrubError(err),
		slow:   timedOut(err),
		final:  errors.Is(err, errRedirect) || errors.As(err, &untrusted),
	}
}

// timedOut is about answers: a dial that times out says nothing of the query.
func timedOut(err error) bool {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return false
	}
	var late interface{ Timeout() bool }
	return errors.As(err, &late) && late.Timeout()
}

// longestPause is what a longer one is taken for, also one that no number holds.
const longestPause = 1e6 * time.Second

// retryAfter reads both forms of the header (RFC 9110, section 10.2.3). A date counts from the server's own clock.
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
