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

// Repeat says what may be done when an answer was lost: a connection that broke, a time-out, a 5xx
// other than 503, a page of HTML. Nobody knows then whether the request took effect.
type Repeat int

const (
	// Harmless requests are sent again, and nothing of the lost attempt matters: reads, and writes
	// that set what they name or find what an earlier attempt has made.
	Harmless Repeat = iota
	// Doubtful requests are sent again, and their error is ErrUnknown unless a later answer settles
	// what became of them.
	Doubtful
	// Once is for requests that must not take effect twice: a lost answer ends them with
	// ErrUnknown. What surely left no trace is sent again: after 429, 503, and a connection that
	// never came about.
	Once
)

// A Request is one question to the service, or one record for it.
type Request struct {
	Op         string      // begins its errors, such as "csv_report 2026-01-01:2026-01-07"
	Method     string      // default GET
	URL        string      // where to
	Header     http.Header // beside the credential's; it is only read
	Body       string      // empty: none
	Credential *Credential // nil: none is sent
	Repeat     Repeat
	FirstByte  time.Duration // a shorter wait than the client's for the answer; 0: the client's

	Hidden  []string // values that no error and no log may show
	Blot    string   // stands for them; default [secret]
	Private bool     // what a 200 holds is in no error either, unless it is a page of HTML or an error

	// Verdict may know what an answer other than an accepted one means, by its status and the
	// service's words: the request then ends with that error, as soon as the credential isn't to
	// blame (ErrAuth). Nil: it knows none.
	Verdict func(status int, words string) error

	// Taken are statuses beside 200 that say that a record was taken; only without Read.
	Taken []int

	// Read reads the content of a 200, and is called anew for each attempt: what it made of an
	// earlier call is void. Its error ends the request, unless the answer broke. Nil: any 200 is
	// accepted that isn't a page of HTML.
	Read       func(io.Reader) error
	Types      []string // media types that Read takes, the one for people first
	Never      string   // bytes that the content can't begin with
	Count      bool     // its bytes go into Meter.Bytes
	Report     bool     // it is one of those that overload the service
	Splittable bool     // the caller can ask for less at once: the second answer that is too slow is ErrTooSlow
}

// record tells whether a request is one whose effect is remembered when its answer is lost.
func (r *Request) record() bool { return r.Repeat != Harmless }

// An Answer tells how a request went.
type Answer struct {
	Started  time.Time // when the first attempt was sent
	Empty    bool      // 204: nothing matches
	Bytes    int64     // of the accepted content, after decompression
	Attempts int
	Resent   int         // attempts after one that may have taken effect
	Status   int         // of the accepted answer, when it has a content or is a 204
	Header   http.Header // likewise, without what repeats a token
}

// A Credential is how the caller proves itself at one host.
type Credential struct {
	Header string // canonical; of Authorization the secret is a Bearer token, of any other it is the whole value
	// Parameter carries the secret in place of Header, beside the others of the form, or of the
	// query where there is no form.
	Parameter string
	Source    TokenSource // of the secret; nil: none is sent
	Denied    error       // what a 401 or 403 means, such as "check the partner's key"; it is an ErrAuth

	last atomic.Pointer[provedHeader]
}

// A provedHeader is the header of every record that is sent with one secret. It is made once,
// because nothing writes to it.
type provedHeader struct {
	secret string
	header http.Header
}

// header is the header of a record: what the endpoint and the client say, and the secret.
func (c *Credential) header(of http.Header, agent, secret string, known *secrets) http.Header {
	if last := c.last.Load(); last != nil && last.secret == secret {
		return last.header
	}
	h := of.Clone()
	h.Set("User-Agent", agent)
	if secret != "" {
		known.add(secret) // before another request can send it, whose answer may repeat it
		c.set(h, secret)
	}
	c.last.Store(&provedHeader{secret, h})
	return h
}

var (
	headerName    = lazy.Regexp(`^[A-Za-z0-9-]+$`)
	parameterName = lazy.Regexp(`^[A-Za-z0-9_.-]+$`)
)

// ValidParameter tells whether s can be the name of a parameter that carries a secret.
func ValidParameter(s string) bool { return parameterName().MatchString(s) }

// ValidHeader tells whether s can be the name of a header.
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

// newer reads the secret again, unless another request that was denied with the old one has done so
// already.
func (c *Credential) newer(ctx context.Context, old string) (string, error) {
	secret, err := c.Source.Token(ctx)
	if err != nil || secret != old {
		return secret, err
	}
	return c.Source.Refresh(ctx)
}

// A Refusal is one of this package's errors in the words of one endpoint.
type Refusal struct {
	Text string
	As   error // such as ErrAuth
}

func (r *Refusal) Error() string { return r.Text }

// Is makes the refusal the error that it stands for.
func (r *Refusal) Is(target error) bool { return errors.Is(r.As, target) }
