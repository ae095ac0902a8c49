package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/reportferry/reportferry/internal/lazy"
)

// Repeat says whether a request may be sent again after its answer was lost: by a broken
// connection, a time-out, a 5xx other than 503, or a page of HTML. Nobody knows then whether the
// request took effect.
type Repeat int

const (
	// Harmless requests are sent again, and it doesn't matter whether the lost attempt took effect.
	// They are reads, and writes that set what they name or find what an earlier attempt has made.
	Harmless Repeat = iota
	// Doubtful requests are sent again. Their error is ErrUnknown unless a later answer shows
	// whether they took effect.
	Doubtful
	// Once is for requests that must not take effect twice: a lost answer ends them with
	// ErrUnknown. They are sent again only after failures that certainly left no trace: a 429, a
	// 503, or a connection that wasn't made.
	Once
)

// A Request is one query of the service, or one record to send to it.
type Request struct {
	Op         string      // begins its errors, such as "csv_report 2026-01-01:2026-01-07"
	Method     string      // default GET
	URL        string      // address
	Header     http.Header // sent in addition to the credential's; it is only read
	Body       string      // empty if the request has no body
	Credential *Credential // nil if no credential is sent
	Repeat     Repeat
	FirstByte  time.Duration // most time to wait for the answer; the client's if that is shorter, or if this is 0

	Hidden      []string // values that no error and no log may show
	Replacement string   // replaces them; default [secret]
	Private     bool     // errors don't show the content of a 200 either, unless it is a page of HTML or an error

	// Verdict may turn an answer that isn't accepted into an error, by its status and the service's
	// words. The request then ends with that error. A nil Verdict, or a nil error, leaves the
	// decision to the client.
	Verdict func(status int, words string) error

	// Taken lists statuses besides 200 that say that a record was taken. It is used only without
	// Read.
	Taken []int

	// Read reads the content of a 200. It is called anew for each attempt, and must then discard
	// the results of earlier calls. Its error ends the request, unless the answer broke off. If
	// Read is nil, any 200 is accepted that is neither a page of HTML nor an error.
	Read       func(io.Reader) error
	Types      []string // media types that Read accepts; the first is asked for, and named in errors
	Never      string   // bytes that the content can't begin with
	Count      bool     // its bytes go into Meter.Bytes
	Report     bool     // it is a report, one of the requests that overload the service
	Splittable bool     // the caller can ask for less, so the second answer that is too slow ends it with ErrTooSlow
}

// record reports whether the request writes something that may take effect even when its answer is
// lost.
func (r *Request) record() bool { return r.Repeat != Harmless }

// An Answer describes how a request went.
type Answer struct {
	Started  time.Time // when the first attempt was sent
	Empty    bool      // 204: nothing matches
	Bytes    int64     // of the accepted content, after decompression
	Attempts int
	Resent   int         // attempts after one that may have taken effect
	Status   int         // status of the accepted answer, when it has content or is a 204
	Header   http.Header // header of that answer, without values that repeat a token
}

// A Credential is what identifies the caller at one host.
type Credential struct {
	Header string // canonical name; for Authorization the secret is sent as a Bearer token, for others as it is
	// Parameter is the name of a parameter that carries the secret instead of Header, in the form,
	// or in the query where there is no form.
	Parameter string
	Source    TokenSource // where the secret comes from; nil if none is sent
	Denied    error       // the error for a 401 or 403, such as "check the partner's key"; it is an ErrAuth

	last atomic.Pointer[provedHeader]
}

// A provedHeader is the header of every record that is sent with one secret. It is shared, because
// nothing writes to it.
type provedHeader struct {
	secret string
	header http.Header
}

// header returns the header of a record: the endpoint's, the User-Agent and the secret.
func (c *Credential) header(of http.Header, agent, secret string, known *secrets) http.Header {
	if last := c.last.Load(); last != nil && last.secret == secret {
		return last.header
	}
	h := of.Clone()
	h.Set("User-Agent", agent)
	if secret != "" {
		known.add(secret) // before any request sends it, because an answer may repeat it
		c.set(h, secret)
	}
	c.last.Store(&provedHeader{secret, h})
	return h
}

var (
	headerName    = lazy.Regexp(`^[A-Za-z0-9-]+$`)
	parameterName = lazy.Regexp(`^[A-Za-z0-9_.-]+$`)
)

// ValidParameter reports whether s can be the name of a parameter that carries a secret.
func ValidParameter(s string) bool { return parameterName().MatchString(s) }

// ValidHeader reports whether s can be the name of a header.
func ValidHeader(s string) bool { return headerName().MatchString(s) }

// set puts the secret into a header, unless a parameter carries it.
func (c *Credential) set(h http.Header, secret string) {
	if c.Parameter != "" {
		return
	}
	if c.Header == "Authorization" {
		secret = "Bearer " + secret
	}
	h.Set(c.Header, secret)
}

// newer returns a secret that differs from old if another request has read it already, or else
// reads the secret again.
func (c *Credential) newer(ctx context.Context, old string) (string, error) {
	secret, err := c.Source.Token(ctx)
	if err != nil || secret != old {
		return secret, err
	}
	return c.Source.Refresh(ctx)
}

// A Refusal is one of this package's errors, in the words of one endpoint.
type Refusal struct {
	Text string
	As   error // the error that it stands for, such as ErrAuth
}

func (r *Refusal) Error() string { return r.Text }

// Is reports whether the refusal stands for target.
func (r *Refusal) Is(target error) bool { return errors.Is(r.As, target) }
