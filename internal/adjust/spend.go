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

// Spend is one record of ad spend, as it is sent: nothing is checked or changed here.
type Spend struct {
	Type     string // cpc, cpi, cpe or cpm
	Currency string // ISO 4217, in lower case
	Amount   string // a plain decimal of at most five decimals
	CostID   string // 12 to 256 characters, unique for an engagement. It is in no error and no log
	Tag      string // at most 128 characters
}

// SpendAuth is how a partner proves itself at cost_url. The service's document leaves the form open.
type SpendAuth struct {
	Header string      // default Authorization, where the key is a Bearer token; of any other header it is the whole value
	Key    TokenSource // the reports' token is never sent to cost_url
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// spendState is what SubmitSpend needs besides what all requests share.
type spendState struct {
	auth   SpendAuth
	http   *http.Client
	header *atomic.Pointer[spendHeader]
	warned *atomic.Int64 // when a retry was last logged, in nanoseconds since 1970
}

// spendHeader is the header of every request that is sent with one key. It is made once, because nothing writes to it.
type spendHeader struct {
	key  string
	head http.Header
}

func newSpendState(o Options) spendState {
	s := spendState{auth: o.SpendAuth, header: &atomic.Pointer[spendHeader]{}, warned: &atomic.Int64{}}
	s.auth.Header = http.CanonicalHeaderKey(orElse(s.auth.Header, "Authorization"))
	hc := *o.HTTP
	// Whoever follows a redirect of a POST sends the record twice, or asks a page for people whether it was taken.
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.http = &hc
	return s
}

// SubmitSpend sends one record and returns nil when the service has taken it.
//
// It tries again, as often as Attempts and for as long as Patience say, only after what surely left no trace: 429, 503, a
// 401 once after reading the key again, and a connection that never came about. After anything that may have left one it
// returns at once an error that is ErrUnknown: a connection that broke, a time-out, a cut answer, any other 5xx, a page
// of HTML, and the end of ctx while an answer was awaited. A 400 is ErrRejected, 401 and 403 are ErrAuth. Any other error
// means that the record wasn't taken. All errors are an *Error.
func (c *Client) SubmitSpend(ctx context.Context, s Spend) error {
	if c.cost == nil || c.spend.auth.Key == nil {
		return &Error{Op: "cost", Err: errors.New("this client has no cost_url, or no key for it")}
	}
	t := submission{Client: c, record: s, form: s.form()}
	f := t.run(ctx)
	if f == nil {
		return nil
	}
	e := &Error{Op: "cost", Status: f.status, Code: f.code, Message: f.message, Attempts: t.attempt, Err: f.err}
	if !t.start.IsZero() {
		e.Elapsed = time.Since(t.start)
	}
	return e
}

// form is the request's body. The documents show it so, and a query would be in the logs of every host on the way.
func (s Spend) form() string {
	var b strings.Builder
	b.Grow(64 + len(s.Type) + len(s.Currency) + len(s.Amount) + len(s.CostID) + len(s.Tag))
	for _, p := range [...]struct{ name, value string }{
		{"cost_type=", s.Type}, {"&cost_currency=", s.Currency}, {"&cost_amount=", s.Amount}, {"&cost_id=", s.CostID}, {"&tag=", s.Tag},
	} {
		b.WriteString(p.name)
		b.WriteString(url.QueryEscape(p.value))
	}
	return b.String()
}

// submission is the state of one record on its way.
type submission struct {
	*Client
	record    Spend
	form      string
	attempt   int // sent so far
	start     time.Time
	refreshed bool
}

func (t *submission) run(ctx context.Context) *failure {
	for tries := 1; ; tries++ {
		f := t.once(ctx)
		if f == nil || f.final {
			return f
		}
		wait := f.pause
		if wait == 0 {
			wait = time.Duration(t.draw(int64(min(backoffCeiling, backoffBase<<min(tries-1, 10)))))
		}
		if tries >= t.attempts || time.Since(t.start)+wait > t.patience {
			return f
		}
		t.meter.Backoff.Add(int64(wait))
		t.warn(ctx, tries, f, wait)
		if f.pause > 0 {
			continue // the limiter holds everybody back for that long
		}
		if err := sleep(ctx, wait); err != nil {
			return &failure{status: f.status, code: f.code, message: f.message, err: ended(ctx, err)}
		}
	}
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
	key, err := t.spend.auth.Key.Token(ctx)
	if err != nil {
		return &failure{final: true, err: t.clean(err)}
	}
	f := t.send(ctx, key)
	if f == nil || f.status != http.StatusUnauthorized || t.refreshed {
		return f
	}
	t.refreshed = true
	if newer, err := t.newerKey(ctx, key); err != nil {
		f.err = fmt.Errorf("%w; reading it again: %w", f.err, t.clean(err))
	} else if newer != key && t.limiter.wait(ctx, t.start.Add(t.patience)) == nil {
		return t.send(ctx, newer)
	}
	return f
}

// newerKey reads the key again, unless another record that met a 401 has done so already.
func (t *submission) newerKey(ctx context.Context, old string) (string, error) {
	key, err := t.spend.auth.Key.Token(ctx)
	if err != nil || key != old {
		return key, err
	}
	return t.spend.auth.Key.Refresh(ctx)
}

// send makes one attempt and sorts its answer.
func (t *submission) send(ctx context.Context, key string) *failure {
	connected := false
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }}
	late := &timeout{"no answer", t.firstByte}
	attempt, cancel := context.WithTimeoutCause(ctx, t.firstByte, late)
	defer cancel()
	req := (&http.Request{
		Method: http.MethodPost, URL: t.cost, Host: t.cost.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: t.headOf(key), Body: io.NopCloser(strings.NewReader(t.form)), ContentLength: int64(len(t.form)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(t.form)), nil },
	}).WithContext(httptrace.WithClientTrace(attempt, trace))
	t.attempt++
	t.meter.Requests.Add(1)
	if t.attempt > 1 {
		t.meter.Retries.Add(1)
	}
	resp, err := t.spend.http.Do(req)
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
	return nil
}

// headOf is the header that goes with a key.
func (t *submission) headOf(key string) http.Header {
	if h := t.spend.header.Load(); h != nil && h.key == key {
		return h.head
	}
	t.secrets.add(key)
	h := http.Header{}
	h.Set("Content-Type", "application/x-www-form-urlencoded")
	h.Set("Accept-Encoding", "identity") // a word isn't worth packing
	h.Set("User-Agent", t.agent)
	h.Set(t.spend.auth.Header, key)
	if t.spend.auth.Header == "Authorization" {
		h.Set("Authorization", "Bearer "+key)
	}
	t.spend.header.Store(&spendHeader{key, h})
	return h
}

const warnEvery = int64(time.Second)

// warn logs a retry, a line a second at most: thousands of records may meet the same 429.
func (t *submission) warn(ctx context.Context, tries int, f *failure, wait time.Duration) {
	now, last := time.Now().UnixNano(), t.spend.warned.Load()
	if now-last < warnEvery || !t.spend.warned.CompareAndSwap(last, now) {
		return
	}
	t.log.WarnContext(ctx, fmt.Sprintf("cost: attempt %d of %d failed: %v", tries, t.attempts, f), "wait", wait, "status", f.status)
}
