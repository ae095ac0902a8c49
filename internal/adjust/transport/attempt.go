package transport

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A failure is the result of an attempt that failed.
type failure struct {
	status        int
	code, message string
	err           error
	final         bool          // another attempt can't help
	slow          bool          // 504, a 500 that speaks of a time-out, or a time-out
	tooLong       bool          // the answer is larger than the allowed maximum
	overload      bool          // the answer is such a 500, which a query that is merely slow doesn't get
	wrongKind     bool          // a 200 whose body isn't what was asked for: an HTML page, an error, or empty
	unreached     bool          // there was no connection
	unavailable   bool          // other requests would fail as well, now and later
	address       string        // the address that answered, if it is probably the wrong one
	fromOtherHost bool          // answered by a host that a redirect led to
	fromCaller    bool          // err is the caller's: Read or beforeSend returned it
	conclusive    bool          // err says for certain what became of the request, earlier attempts included
	pause         time.Duration // what Retry-After asks for
}

// Error says in one line what came back.
func (f *failure) Error() string { return outcome(f.status, f.code, f.message, f.err) }

// send sends the request once and reads its answer; nil means that the answer was accepted. A kept
// connection that turns out to be closed is replaced by net/http itself, within the attempt.
func (x *exchange) send(secret string) *failure {
	if x.beforeSend != nil {
		if err := x.beforeSend(x.ctx); err != nil {
			return &failure{final: true, fromCaller: true, err: x.scrubber.scrubError(err)}
		}
	}
	// Limit the attempt's time. For a record, note also whether there was a connection.
	ctx, w, end := x.attemptContext()
	defer end()
	connected := false
	if x.record() {
		ctx = httptrace.WithClientTrace(ctx,
			&httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	}
	address, content := x.addressAndBody(secret)
	req, err := http.NewRequestWithContext(ctx, cmp.Or(x.Method, http.MethodGet), address, content)
	if err != nil {
		return &failure{final: true, err: x.scrubber.scrubError(err)}
	}
	x.sign(req, secret)

	// Send the request, and read the answer.
	sent := x.count()
	resp, err := x.http.Do(req)
	if err != nil {
		return x.brokenFailure(ctx, 0, err, connected)
	}
	defer func() { _ = resp.Body.Close() }() // what reading it had to say is known by then
	if x.Read == nil {
		return x.readRecordAnswer(ctx, resp, sent)
	}
	return x.readAnswer(ctx, resp, sent, w)
}

// sign sets the header of an attempt, with the credential.
func (x *exchange) sign(req *http.Request, secret string) {
	if x.record() && x.Credential != nil {
		req.Header = x.Credential.header(x.Header, x.agent, secret, x.secrets)
		return
	}
	maps.Copy(req.Header, x.Header)
	req.Header.Set("User-Agent", x.agent)
	if x.Read != nil {
		req.Header.Set("Accept", x.Types[0])
		req.Header.Set("Accept-Encoding", acceptedCodings)
	}
	if secret != "" {
		x.secrets.add(secret)
		x.Credential.set(req.Header, secret)
	}
}

// addressAndBody returns the address and the body of the next attempt. A secret that is sent as a
// parameter is in the body, or in the address if there is no body.
func (x *exchange) addressAndBody(secret string) (address string, body io.Reader) {
	parameter := ""
	if x.Credential != nil && x.Credential.Parameter != "" && secret != "" {
		parameter = "&" + x.Credential.Parameter + "=" + url.QueryEscape(secret)
	}
	if x.Body == "" {
		return x.URL + parameter, http.NoBody
	}
	return x.URL, strings.NewReader(x.Body + parameter)
}

// attemptContext returns the context that limits the time of one attempt. The whole answer to a
// record must arrive within the time for the first byte. For a report, w limits the wait for each
// piece of the body.
func (x *exchange) attemptContext() (ctx context.Context, w *watch, end func()) {
	first := x.firstByte
	if x.FirstByte > 0 {
		first = min(first, x.FirstByte)
	}
	if x.Read == nil {
		ctx, cancel := context.WithTimeoutCause(x.budget, first, &timeoutError{"no answer", first})
		return ctx, nil, cancel
	}
	ctx, cancel := context.WithCancelCause(x.budget)
	w = newWatch(cancel, first, x.idle)
	return ctx, w, func() { w.stop(); cancel(nil) }
}

// count counts an attempt, and returns the time at which it is sent.
func (x *exchange) count() time.Time {
	now := time.Now()
	x.answer.Attempts++
	x.meter.Requests.Add(1)
	if x.answer.Attempts == 1 {
		x.answer.Started = now
	} else {
		x.meter.Retries.Add(1)
	}
	if x.maybeTaken {
		x.answer.Resent++
	}
	return now
}

// readRecordAnswer reads the answer to a record: its status, and its text if it is refused.
func (x *exchange) readRecordAnswer(ctx context.Context, resp *http.Response, sent time.Time) *failure {
	text, err := io.ReadAll(io.LimitReader(resp.Body, errorBodyLimit))
	switch {
	case resp.StatusCode != http.StatusOK && !slices.Contains(x.Taken, resp.StatusCode):
		return x.classify(resp, wholeWords(string(text), err))
	case err != nil:
		return x.brokenFailure(ctx, resp.StatusCode, err, true)
	case isHTML(resp.Header, text):
		f := &failure{status: resp.StatusCode, wrongKind: true,
			message: pageOf(wholeWords(string(text), nil), x.scrubber.scrub)}
		x.noteMaybeTaken(f)
		return f
	case tellsError(text, true):
		f := x.errorIn(resp.StatusCode, string(text))
		x.noteMaybeTaken(f)
		return f
	}
	_ = x.checkDate(resp.Header, sent, true) // a warning at most: what was taken is taken
	return nil
}

// isHTML tells whether an answer is a web page, which comes from a proxy or gateway and not from
// the service.
func isHTML(h http.Header, text []byte) bool {
	return strings.HasPrefix(h.Get("Content-Type"), "text/html") || bytes.HasPrefix(bytes.TrimSpace(text), []byte("<"))
}

// readAnswer reads an answer whose content is for Read.
func (x *exchange) readAnswer(ctx context.Context, resp *http.Response, sent time.Time, w *watch) *failure {
	if resp.StatusCode < http.StatusMultipleChoices {
		if err := x.checkDate(resp.Header, sent, false); err != nil {
			return &failure{final: true, err: err}
		}
	}
	if resp.StatusCode == http.StatusNoContent {
		x.keepAnswer(resp)
		x.answer.Empty = true
		return nil
	}
	b := openBody(resp, w)
	defer b.close()
	if resp.StatusCode != http.StatusOK {
		return x.classify(resp, errorText(b))
	}
	return x.accept(ctx, resp, b)
}

// accept checks the answer of a 200 and passes it to x.Read.
func (x *exchange) accept(ctx context.Context, resp *http.Response, b *body) *failure {
	if err := checkType(resp, x.Types); err != nil {
		f, text := &failure{status: http.StatusOK}, errorText(b)
		// Pages and errors hold nothing of what was asked for.
		if !x.Private || isHTML(nil, []byte(text)) || tellsError([]byte(text), false) {
			f = x.errorIn(http.StatusOK, text)
		}
		f.err, f.wrongKind = x.scrubber.scrubError(err), true
		if to := x.bareAddress(resp.Request.URL); IsPage(f.message) && to != x.bareAddress(nil) {
			f.address = to
		}
		return f
	}
	if err := checkEnd(resp); err != nil {
		return &failure{status: http.StatusOK, err: err}
	}
	if x.Count {
		b.count, b.maxBytes = &x.meter.Bytes, x.maxAnswer
	}
	err := b.feed(x.Never, x.Private, x.Read)
	switch {
	case b.jsonError != "":
		f := x.errorIn(http.StatusOK, b.jsonError)
		f.final = !strings.Contains(x.Never, "{") // otherwise the error may be a gateway's
		return f
	case b.broken != nil: // whatever the reader made of it
		f := x.brokenFailure(ctx, http.StatusOK, b.broken, true)
		f.wrongKind, f.tooLong = b.wrongKind, b.tooLong
		f.final = f.final || f.tooLong
		return f
	case err != nil:
		return &failure{status: http.StatusOK, final: true, fromCaller: true, err: x.scrubber.scrubError(err)}
	}
	x.answer.Bytes = b.bytesRead
	x.keepAnswer(resp)
	return nil
}

// keepAnswer keeps the status and the header of an accepted answer, without values that have
// secrets.
func (x *exchange) keepAnswer(resp *http.Response) {
	x.answer.Status, x.answer.Header = resp.StatusCode, resp.Header
	maps.DeleteFunc(x.answer.Header, func(_ string, values []string) bool {
		return slices.ContainsFunc(values, func(v string) bool { return x.scrubber.scrub(v) != v })
	})
}

// brokenFailure returns the failure of an attempt that got no answer, or only part of one. If there
// was a connection, the request may have taken effect.
func (x *exchange) brokenFailure(attempt context.Context, status int, err error, connected bool) *failure {
	if cause := context.Cause(attempt); cause != nil {
		err = Ended(x.ctx, cause)
	}
	var untrusted *tls.CertificateVerificationError
	var refused *proxyError
	f := &failure{
		status: status, err: x.scrubber.scrubError(err), slow: timedOut(err),
		unreached: status == 0 && neverConnected(err),
		final:     x.ctx.Err() != nil || errors.Is(err, errRedirect) || errors.As(err, &untrusted),
	}
	if errors.As(err, &refused) && refused.final() {
		f.final, f.unavailable = true, true
	}
	if connected {
		x.noteMaybeTaken(f)
	}
	return f
}

// noteMaybeTaken notes in f and x that a record may have taken effect: whether it did is unknown.
func (x *exchange) noteMaybeTaken(f *failure) {
	if !x.record() {
		return
	}
	x.maybeTaken, f.final = true, f.final || x.Repeat == Once
	if f.err == nil {
		f.err = ErrUnknown
	} else {
		f.err = fmt.Errorf("%w: %w", ErrUnknown, f.err)
	}
}

// timedOut tells whether waiting for the answer timed out. A dial that timed out doesn't count.
func timedOut(err error) bool {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return false
	}
	var late interface{ Timeout() bool }
	return errors.As(err, &late) && late.Timeout()
}

// errRedirect is the error of a redirect that isn't followed.
var errRedirect = errors.New("redirect not followed")

// checkRedirect follows a redirect of a GET, but sends neither credential nor account to another
// host, and no longer to the first host if a later redirect leads back there. net/http alone would
// still send the token to subdomains.
func (c *Client) checkRedirect(req *http.Request, via []*http.Request) error {
	if via[0].Method != http.MethodGet {
		// Following it could send the record twice or to a foreign host, or take the status of a
		// web page for the service's answer.
		return http.ErrUseLastResponse
	}
	if len(via) >= 10 {
		return fmt.Errorf("%w: ten in a row", errRedirect)
	}
	if at := req.URL.String(); c.secrets.scrub(at) != at {
		return fmt.Errorf("%w: its address repeats the token", errRedirect)
	}
	req.Header.Del("Referer")
	first := via[0].URL
	for _, hop := range append(via[1:len(via):len(via)], req) {
		if sameHost(hop.URL, first) {
			continue
		}
		for name := range req.Header {
			switch name {
			case "Accept", "Accept-Encoding", "User-Agent":
			default:
				req.Header.Del(name)
			}
		}
	}
	return nil
}

// sameHost reports whether two addresses have the same scheme, host and port.
func sameHost(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }
