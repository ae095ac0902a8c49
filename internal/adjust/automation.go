package adjust

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/lazy"
)

// errAutomationAuth is ErrAuth in the words of app automation.
var errAutomationAuth = &transport.Refusal{Text: "check service.token, that its user is an Admin or Editor, " +
	"that app automation is switched on for the account, and that the app belongs to it", As: ErrAuth}

// pathPart reports whether s may stand between two slashes of a path: the service's tokens and
// numbers may, and nothing that leads to another endpoint.
func pathPart(s string) bool { return len(s) <= 128 && pathWord().MatchString(s) }

// pathWord matches a text of characters that need no escape in a path.
var pathWord = lazy.Regexp(`^[A-Za-z0-9_-]+$`)

// A call is one request to app automation.
type call struct {
	op     string
	method string     // default GET
	path   []string   // below /app-automation
	query  url.Values // may be nil
	body   any        // sent as JSON; nil for a request without a body
	hidden []string   // values that no error and no log may show
	what   string     // what the answer should be, such as "an app"
	absent error      // the error when something isn't there; default ErrNotFound
}

// automationRequest makes the request of a call.
func (c *Client) automationRequest(q call) (transport.Request, error) {
	r := transport.Request{
		Op: q.op, Method: q.method, Hidden: q.hidden, Private: true, FirstByte: automationWait,
		Credential: &transport.Credential{Denied: errAutomationAuth},
		Verdict: func(status int, words string) error {
			if !isAbsence(status, words) {
				return nil
			}
			return cmp.Or(q.absent, ErrNotFound)
		},
	}
	if c.base == nil {
		return r, nil // ask refuses it
	}
	for _, part := range q.path {
		if !pathPart(part) {
			return r, &Error{Op: q.op,
				Err: fmt.Errorf("%q can't be a token or an ID: only letters, digits, - and _ are, 128 at most",
					transport.Shorten(part))}
		}
	}
	r.URL = c.base.String() + "/app-automation/" + strings.Join(q.path, "/")
	if len(q.query) > 0 {
		r.URL += "?" + q.query.Encode()
	}
	if q.body == nil {
		return r, nil
	}
	body, err := json.Marshal(q.body)
	switch {
	case err != nil:
		// err is left out, because it may show a secret value.
		return r, &Error{Op: q.op, Err: fmt.Errorf("what is to be sent has no form in JSON: %T", q.body)}
	case len(body) > bodyLimit:
		return r, &Error{Op: q.op, Err: fmt.Errorf("what is to be sent is %d bytes long, more than %d", len(body),
			bodyLimit)}
	}
	r.Body, r.Hidden = string(body), append(r.Hidden, secretsIn(body)...)
	return r, nil
}

// automationWait is the longest wait for the first byte of an answer: the work of app automation is
// done in jobs.
const automationWait = time.Minute

// bodyLimit is the most bytes of a request's body: far more than an app with a thousand events
// needs, and about the 1 MB above which a sibling endpoint is documented to refuse bodies
// (dev.adjust.com/en/api/s2s-api, "Request size too large").
const bodyLimit = 1 << 20

// ErrNotFound means that the service knows no such app, ticket or secret. Its documents name no
// status for that: it is a 404, or a 400 that says "not found".
var ErrNotFound = errors.New("it isn't there")

// ErrNotManaged is the ErrNotFound of an app's details: those of an app that wasn't made or updated
// through app automation aren't there either.
var ErrNotManaged error = &transport.Refusal{Text: "it isn't there, or wasn't made through app automation",
	As: ErrNotFound}

// isAbsence tells whether an answer means that something isn't there.
func isAbsence(status int, words string) bool {
	return status == http.StatusNotFound || status == http.StatusBadRequest && notFound().MatchString(words)
}

// notFound matches the words of a 400 about something that isn't there.
var notFound = lazy.Regexp(`(?i)\bnot found\b`)

// opPart returns a piece of a path as it may stand in an error: "?" if it isn't a valid one.
func opPart(s string) string {
	if !pathPart(s) {
		return "?"
	}
	return s
}

// secretName matches the names of fields whose value is a secret. appToken matches those that hold
// the tokens of apps, which are no secrets.
var (
	secretName = lazy.Regexp(`(?i)secret|password|credential|(^|_)(key|token)s?$`)
	appToken   = lazy.Regexp(`(^|_)app_tokens?$`)
)

// secretsIn finds the secrets in what is sent as JSON.
func secretsIn(body []byte) []string {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return nil
	}
	return withoutShort(appendTexts(nil, v, false))
}

// withoutShort leaves short secrets out, because hiding them would blot out unrelated words of an
// error.
func withoutShort(secrets []string) []string {
	return slices.DeleteFunc(secrets, func(s string) bool { return len(s) < 4 })
}

// textsOf returns all texts in JSON, or data itself if it isn't JSON.
func textsOf(data string) []string {
	var v any
	if json.Unmarshal([]byte(data), &v) != nil {
		v = data
	}
	return appendTexts([]string{}, v, true)
}

// appendTexts appends to list the texts in a JSON value: every text if all is true, or else those
// in fields that secretName matches and appToken doesn't.
func appendTexts(list []string, v any, all bool) []string {
	switch v := v.(type) {
	case string:
		if all {
			list = append(list, v)
		}
	case []any:
		for _, item := range v {
			list = appendTexts(list, item, all)
		}
	case map[string]any:
		for name, item := range v {
			list = appendTexts(list, item, all || secretName().MatchString(name) && !appToken().MatchString(name))
		}
	}
	return list
}
