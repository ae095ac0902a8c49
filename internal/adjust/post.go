package adjust

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
)

// SpendAuth is how the caller proves itself at cost_url, and at s2s_url. The service's documents leave the form open.
type SpendAuth struct {
	Header string      // default Authorization, where the key is a Bearer token; of any other header it is the whole value
	Key    TokenSource // the reports' token is never sent there unless it is given here
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

func (a SpendAuth) valid() bool { return a.Header == "" || headerName.MatchString(a.Header) }

// canonical is a with the header's name in full.
func (a SpendAuth) canonical() SpendAuth {
	a.Header = http.CanonicalHeaderKey(orElse(a.Header, "Authorization"))
	return a
}

// An outlet is an endpoint that takes records, each in one POST of a form.
type outlet struct {
	op      string
	at      *url.URL
	auth    SpendAuth
	denied  error                                // ErrAuth in its words
	blot    string                               // stands for what a record hides
	again   bool                                 // a record that may have been taken is sent again: twice is the same as once
	verdict func(status int, words string) error // on a record, of the answers that have one; nil for the others
	header  atomic.Pointer[keyedHeader]
	warned  atomic.Int64 // when a retry was last logged, in nanoseconds since 1970
}

// keyedHeader is the header of every request that is sent with one key. It is made once, because nothing writes to it.
type keyedHeader struct {
	key  string
	head http.Header
}

// post sends one record, of which no error and no log shows what is hidden.
func (o *outlet) post(ctx context.Context, c *Client, form string, hidden ...string) error {
	t := submission{Client: c, outlet: o, veil: veil{c.secrets, hidden, o.blot}, form: form}
	f := t.run(ctx)
	if f == nil {
		return nil
	}
	e := &Error{Op: o.op, Status: f.status, Code: f.code, Message: f.message, Attempts: t.attempt, Err: f.err}
	if !t.start.IsZero() {
		e.Elapsed = time.Since(t.start)
	}
	return e
}

// A field is a name and its value in a form.
type field struct{ name, value string }

// formOf is the request's body. The documents show it so, and a query would be in the logs of every host on the way.
func formOf(fields ...field) string {
	size := 0
	for _, p := range fields {
		size += len(p.name) + len(p.value) + 2
	}
	var b strings.Builder
	b.Grow(size + size/4)
	for i, p := range fields {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(p.name)
		b.WriteByte('=')
		b.WriteString(url.QueryEscape(p.value))
	}
	return b.String()
}

// submission is the state of one record on its way.
type submission struct {
	*Client
	*outlet
	veil      veil
	form      string
	attempt   int // sent so far
	start     time.Time
	refreshed bool
	maybe     bool // an attempt may have left a trace
}

func (t *submission) run(ctx context.Context) *failure {
	for tries := 1; ; tries++ {
		f := t.once(ctx)
		if f == nil || f.final {
			return t.settled(f)
		}
		wait := f.pause
		if wait == 0 {
			wait = time.Duration(t.draw(int64(min(backoffCeiling, backoffBase<<min(tries-1, 10)))))
		}
		if tries >= t.attempts || time.Since(t.start)+wait > t.patience {
			return t.settled(f)
		}
		t.meter.Backoff.Add(int64(wait))
		t.warn(ctx, tries, f, wait)
		if f.pause > 0 {
			continue // the limiter holds everybody back for that long
		}
		if err := sleep(ctx, wait); err != nil {
			return t.settled(&failure{status: f.status, code: f.code, message: f.message, err: ended(ctx, err)})
		}
	}
}

// settled is the last failure, which says nothing of an earlier attempt unless it is a verdict on the record.
func (t *submission) settled(f *failure) *failure {
	if f == nil || !t.maybe || errors.Is(f.err, ErrUnknown) || errors.Is(f.err, ErrRejected) || errors.Is(f.err, ErrPartly) {
		return f
	}
	if f.err == nil {
		f.err = ErrUnknown
	} else {
		f.err = fmt.Errorf("%w; after an earlier attempt %w", f.err, ErrUnknown)
	}
	return f
}

// once makes one attempt, two when the key is another by now.
func (t *submission) once(ctx context.Context) *failure {
	if ctx.Err() != nil {
		return &failure{final: true, err: ended(ctx, nil)}
	}
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		return &failure{final: true, err: ended(ctx, nil)}
	}
	defer func() { <-t.slots }()
	began := time.Now()
	if t.start.IsZero() {
		t.start = began
	}
	err := t.limiter.wait(ctx, t.start.Add(t.patience))
	t.meter.Limiter.Add(int64(time.Since(began)))
	if err != nil {
		return &failure{final: true, err: ended(ctx, err)}
	}
	if t.auth.Key == nil {
		return t.send(ctx, "")
	}
	key, err := t.auth.Key.Token(ctx)
	if err != nil {
		return &failure{final: true, err: t.veil.scrubError(err)}
	}
	f := t.send(ctx, key)
	if f == nil || !errors.Is(f.err, ErrAuth) || f.status == http.StatusForbidden || t.refreshed {
		return f
	}
	t.refreshed = true
	if newer, err := t.newerKey(ctx, key); err != nil {
		f.err = fmt.Errorf("%w; reading it again: %w", f.err, t.veil.scrubError(err))
	} else if newer != key && t.limiter.wait(ctx, t.start.Add(t.patience)) == nil {
		return t.send(ctx, newer)
	}
	return f
}

// newerKey reads the key again, unless another record that met a 401 has done so already.
func (t *submission) newerKey(ctx context.Context, old string) (string, error) {
	key, err := t.auth.Key.Token(ctx)
	if err != nil || key != old {
		return key, err
	}
	return t.auth.Key.Refresh(ctx)
}

// send makes one attempt and sorts its answer.
func (t *submission) send(ctx context.Context, key string) *failure {
	if t.may != nil {
		if err := t.may(ctx); err != nil {
			return &failure{final: true, err: err}
		}
	}
	connected := false
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }}
	late := &timeout{"no answer", t.firstByte}
	attempt, cancel := context.WithTimeoutCause(ctx, t.firstByte, late)
	defer cancel()
	req := (&http.Request{
		Method: http.MethodPost, URL: t.at, Host: t.at.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: t.headOf(key), Body: io.NopCloser(strings.NewReader(t.form)), ContentLength: int64(len(t.form)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(t.form)), nil },
	}).WithContext(httptrace.WithClientTrace(attempt, trace))
	t.attempt++
	t.meter.Requests.Add(1)
	if t.attempt > 1 {
		t.meter.Retries.Add(1)
	}
	sent := time.Now()
	resp, err := t.http.Do(req)
	if err != nil {
		return t.broken(ctx, attempt, 0, err, connected)
	}
	defer func() { _ = resp.Body.Close() }() // what reading it had to say is known by then
	text, err := io.ReadAll(io.LimitReader(resp.Body, errorBodyLimit))
	switch {
	case resp.StatusCode != http.StatusOK || err == nil && isHTML(resp.Header, text):
		return t.refused(resp, wholeWords(string(text), err))
	case err != nil:
		return t.broken(ctx, attempt, resp.StatusCode, err, true)
	}
	_ = t.look(resp.Header, sent, true) // a warning at most
	return nil
}

// headOf is the header that goes with a key, or without one.
func (t *submission) headOf(key string) http.Header {
	if h := t.header.Load(); h != nil && h.key == key {
		return h.head
	}
	h := http.Header{}
	h.Set("Content-Type", "application/x-www-form-urlencoded")
	h.Set("Accept-Encoding", "identity") // a word isn't worth packing
	h.Set("User-Agent", t.agent)
	if key != "" {
		t.secrets.add(key)
		h.Set(t.auth.Header, key)
		if t.auth.Header == "Authorization" {
			h.Set("Authorization", "Bearer "+key)
		}
	}
	t.header.Store(&keyedHeader{key, h})
	return h
}

const warnEvery = int64(time.Second)

// warn logs a retry, a line a second at most: thousands of records may meet the same 429.
func (t *submission) warn(ctx context.Context, tries int, f *failure, wait time.Duration) {
	now, last := time.Now().UnixNano(), t.warned.Load()
	if now-last < warnEvery || !t.warned.CompareAndSwap(last, now) {
		return
	}
	t.log.WarnContext(ctx, fmt.Sprintf("%s: attempt %d of %d failed: %v", t.op, tries, t.attempts, f), "wait", wait, "status", f.status)
}
