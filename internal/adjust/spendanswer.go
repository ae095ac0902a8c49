package adjust

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// errSpendAuth is ErrAuth in the words of ad spend.
var errSpendAuth = &refusal{"authentication or permission refused, check the partner's key for cost_url, the header that it is sent in, and what the partner may post for"}

type refusal struct{ text string }

func (r *refusal) Error() string        { return r.text }
func (r *refusal) Is(target error) bool { return target == ErrAuth }

// refused sorts the answers that don't say that the record was taken.
func (t *submission) refused(resp *http.Response, text string) *failure {
	f := &failure{status: resp.StatusCode, final: true}
	f.code, f.message = words(text, t.scrub)
	switch s := resp.StatusCode; {
	case s == http.StatusOK:
		f.err = fmt.Errorf("a page of HTML: %w", ErrUnknown)
	case s < 300:
		f.err = fmt.Errorf("not an answer that the service documents: %w", ErrUnknown)
	case s < 400:
		f.err = errRedirect
	case s == http.StatusBadRequest:
		f.err = ErrRejected
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		f.err = errSpendAuth
	case s == http.StatusTooManyRequests:
		f.final = false
		if f.pause = retryAfter(resp.Header); f.pause > 0 {
			f.err = fmt.Errorf("Retry-After asks to wait %v", round(f.pause))
		}
		t.limiter.throttled(time.Now(), f.pause)
	case s == http.StatusServiceUnavailable:
		f.final = false
	case s == http.StatusRequestTimeout || s >= 500:
		f.err = ErrUnknown
	}
	return f
}

// broken is an attempt without an answer, or with half of one. When there was no connection, there was no record either.
func (t *submission) broken(ctx, attempt context.Context, status int, err error, connected bool) *failure {
	over := ctx.Err() != nil
	if cause := context.Cause(attempt); cause != nil {
		err = ended(ctx, cause)
	}
	err = t.clean(err)
	if connected {
		return &failure{status: status, final: true, err: fmt.Errorf("%w: %w", ErrUnknown, err)}
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

const idBlot = "[cost_id]"

// scrub blots out tokens, and the record's Cost ID.
func (t *submission) scrub(text string) string {
	return blotRuns(t.secrets.scrub(text), t.record.CostID)
}

// clean does the same for an error.
func (t *submission) clean(err error) error {
	err = t.secrets.scrubError(err)
	if err == nil {
		return nil
	}
	if text := err.Error(); blotRuns(text, t.record.CostID) != text {
		return &scrubbed{text: blotRuns(text, t.record.CostID), was: err}
	}
	return err
}

// longestRun is how many characters of a Cost ID in a row may be seen: a service that shortens it shows no more.
const longestRun = 7

// blotRuns blots out every piece of id that is longer than longestRun, or all of it, whatever case or escapes it is in.
func blotRuns(text, id string) string {
	if id == "" {
		return text
	}
	if plain := unescaped(text); plain != text {
		if clean := blotPlain(plain, id); clean != plain {
			text = clean
		}
	}
	return blotPlain(text, id)
}

var (
	percents = regexp.MustCompile(`(?:%[0-9A-Fa-f]{2})+`)
	unicodes = regexp.MustCompile(`(?:\\u[0-9A-Fa-f]{4})+`)
	slashes  = strings.NewReplacer(`\"`, `"`, `\/`, "/", `\\`, `\`)
)

// unescaped undoes what URLs, JSON and HTML do to a text, wherever in it and whatever else is there.
func unescaped(text string) string {
	text = percents.ReplaceAllStringFunc(text, func(s string) string {
		out, err := url.PathUnescape(s)
		if err != nil {
			return s
		}
		return out
	})
	text = unicodes.ReplaceAllStringFunc(text, func(s string) string {
		var out string
		if json.Unmarshal([]byte(`"`+s+`"`), &out) != nil {
			return s
		}
		return out
	})
	return html.UnescapeString(slashes.Replace(text))
}

func blotPlain(text, id string) string {
	runes, lower := []rune(text), []rune(text)
	for i, r := range lower {
		lower[i] = folded(r)
	}
	id = strings.Map(folded, id)
	least := min(longestRun+1, utf8.RuneCountInString(id))
	var b strings.Builder
	for i := 0; i < len(runes); {
		n := least
		for i+n <= len(runes) && strings.Contains(id, string(lower[i:i+n])) {
			n++
		}
		if n == least {
			b.WriteRune(runes[i])
			i++
			continue
		}
		b.WriteString(idBlot)
		i += n - 1
	}
	return b.String()
}

// folded is a character without its case. A plus is a blank in a query.
func folded(r rune) rune {
	if r == '+' {
		return ' '
	}
	return unicode.ToLower(r)
}
