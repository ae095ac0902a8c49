package adjust

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/reportferry/reportferry/internal/adjust/transport"
)

// ask sends a request for reports or app automation to base_url, with the account and the token.
func (c *Client) ask(ctx context.Context, r transport.Request) (Answer, error) {
	if c.base == nil {
		return Answer{}, &Error{Op: r.Op,
			Err: errors.New("this client has no base_url, it is for ad spend or sharing only")}
	}
	r.Header = http.Header{}
	if r.Body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.account != "" {
		r.Header.Set("X-Account-ID", c.account)
	}
	if r.Credential == nil {
		r.Credential = &transport.Credential{}
	}
	r.Credential.Header, r.Credential.Source = "Authorization", c.token
	return c.transport.Do(ctx, r)
}

// reportsURL returns the address of an endpoint of the reports, or "" without a base_url; ask
// refuses the request then.
func (c *Client) reportsURL(endpoint string) string {
	if c.base == nil {
		return ""
	}
	return c.base.String() + "/reports-service/" + endpoint
}

// answerLimit is the most bytes of one answer that are kept in memory.
const answerLimit = 64 << 20

// A limitedReader fails once it has read left bytes, so that no answer fills the memory.
type limitedReader struct {
	from io.Reader
	left int64
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("the answer is longer than %d MiB", answerLimit>>20)
	}
	n, err := l.from.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// A prefixWriter keeps the first bytes that are written to it, to show in an error how an
// unreadable answer begins.
type prefixWriter struct{ text []byte }

func (b *prefixWriter) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), 160-len(b.text))]...)
	return len(p), nil
}

// fetchJSON sends r and reads one JSON value, which errors call what. A 204 gives the zero value,
// and Answer.Empty.
func fetchJSON[T any](ctx context.Context, c *Client, r transport.Request, what string) (T, Answer, error) {
	var none, got T
	r.Types, r.Never = []string{"application/json", "text/json", "text/plain", "application/octet-stream"}, "<"
	r.Read = func(from io.Reader) error {
		var whole T // of this attempt alone
		var begin prefixWriter
		d := json.NewDecoder(io.TeeReader(&limitedReader{from, answerLimit}, &begin))
		if err := d.Decode(&whole); err != nil {
			if !r.Private {
				err = fmt.Errorf("%w; it begins with %q", err, begin.text)
			}
			return fmt.Errorf("the answer isn't %s: %w", what, err)
		}
		if _, err := d.Token(); err != io.EOF {
			return fmt.Errorf("the answer isn't %s: more follows behind it", what)
		}
		got = whole
		return nil
	}
	a, err := c.ask(ctx, r)
	if err != nil || a.Empty { // got may hold the value of an answer that broke off behind it
		return none, a, err
	}
	return got, a, nil
}
