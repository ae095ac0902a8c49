package adjust

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/reportferry/reportferry/internal/adjust/transport"
)

// ErrRejected means that the service will never take a record of ad spend or of third-party
// sharing: it answered 400 or another status about the record alone, or the record is too long.
var ErrRejected = errors.New("the record is refused")

// A rejectedError is an ErrRejected with the service's reason.
type rejectedError struct{ why string }

func (e *rejectedError) Error() string        { return ErrRejected.Error() }
func (e *rejectedError) Is(target error) bool { return target == ErrRejected }

// Refusal returns why the service will never take the record.
func (e *rejectedError) Refusal() string { return e.why }

// newRejected returns the error of a 400, and of other statuses that are about the record alone.
func newRejected(status int, words string) error { return &rejectedError{refusalOf(status, words)} }

// refusalOf says in one line what was answered.
func refusalOf(status int, words string) string {
	why := fmt.Sprintf("the service answered %d", status)
	if words != "" {
		why += ": " + words
	}
	return why
}

// A recordHost takes records, each in one POST of a form.
type recordHost struct {
	url        string
	credential *transport.Credential

	takesQuery atomic.Bool  // the host refused a record as a form, and took it as a query
	queryTries atomic.Int32 // how many records were refused both ways; mostQueries once a form was taken
}

// formHeader is the header of a record, except for the credential. It asks for answers that aren't
// compressed, because an answer is only a word.
var formHeader = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept-Encoding": {"identity"}}

// post sends one record: r says how its answers are read, and what is in no error and no log.
func (c *Client) post(ctx context.Context, h *recordHost, r transport.Request) (Answer, error) {
	r.Method, r.URL, r.Header, r.Credential = http.MethodPost, h.url, formHeader, h.credential
	return c.transport.Do(ctx, r)
}

// A formField is a name and its value in a form.
type formField struct{ name, value string }

// formOf returns the fields as a form, to be a request's body. The documents show it so, and a
// query would be in the logs of every host on the way.
func formOf(fields ...formField) string {
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
