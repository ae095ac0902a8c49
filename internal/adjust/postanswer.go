package adjust

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// refused sorts the answers that don't say that the record was taken.
func (t *submission) refused(resp *http.Response, text string) *failure {
	f := &failure{status: resp.StatusCode, final: true}
	var wrong []Field
	if f.code, f.message, wrong = words(text, t.veil.scrub); wrong != nil {
		f.message = shorten(f.message + ": " + (&ValidationError{wrong}).Error())
	}
	if f.err = t.verdict(f.status, f.message); f.err != nil {
		return f
	}
	switch s := resp.StatusCode; {
	case s == http.StatusOK:
		f.err = fmt.Errorf("a page of HTML: %w", ErrUnknown)
	case s < 300:
		f.err = fmt.Errorf("not an answer that the service documents: %w", ErrUnknown)
	case s < 400:
		f.err = errRedirect
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		f.err = t.denied
	case s == http.StatusTooManyRequests, s == http.StatusServiceUnavailable:
		f.final = false
		f.throttled(t.Client, resp.Header)
	case s == http.StatusRequestTimeout || s >= 500:
		f.err = ErrUnknown
	}
	t.lost(f)
	return f
}

// lost lets an attempt that may have left a trace be made again, where that does no harm.
func (t *submission) lost(f *failure) {
	if errors.Is(f.err, ErrUnknown) {
		t.maybe, f.final = true, !t.again
	}
}

// broken is an attempt without an answer, or with half of one. When there was no connection, there was no record either.
func (t *submission) broken(ctx, attempt context.Context, status int, err error, connected bool) *failure {
	over := ctx.Err() != nil
	if cause := context.Cause(attempt); cause != nil {
		err = ended(ctx, cause)
	}
	err = t.veil.scrubError(err)
	if connected {
		f := &failure{status: status, err: fmt.Errorf("%w: %w", ErrUnknown, err)}
		t.lost(f)
		f.final = f.final || over
		return f
	}
	var untrusted *tls.CertificateVerificationError
	return &failure{status: status, final: over || errors.As(err, &untrusted), err: err}
}

// ended is the end of the caller's context, with its cause; without such an end it is err.
func ended(ctx context.Context, err error) error {
	over := ctx.Err()
	switch cause := context.Cause(ctx); {
	case over == nil:
		return err
	case errors.Is(cause, over):
		return over
	default:
		return fmt.Errorf("%w: %w", over, cause)
	}
}

// isHTML tells the page of something between here and the service from the service's word.
func isHTML(h http.Header, text []byte) bool {
	return strings.HasPrefix(h.Get("Content-Type"), "text/html") || strings.HasPrefix(strings.TrimSpace(string(text)), "<")
}
