package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"strings"

	"github.com/reportferry/reportferry/internal/lazy"
)

// errorBody is the service's ErrorResponseModel, together with other forms of an error's body.
type errorBody struct {
	Code    string       `json:"error_code"`
	Desc    string       `json:"error_desc"`
	Details []wrongField `json:"error_desc_details"`
	ID      string       `json:"correlation_id"` // the service's support asks for it

	Error   Text `json:"error"` // the sharing endpoint's form
	Errors  Text `json:"errors"`
	Detail  Text `json:"detail"` // the form of the framework FastAPI
	Message Text `json:"message"`
}

// A wrongField is a field, and what is wrong with it.
type wrongField struct {
	Loc []any  `json:"loc"`
	Msg string `json:"msg"`
}

// Text is a string in an answer. Where the service sends a value of another type, which its
// documents don't describe, Text holds that value's JSON; it is empty for null.
type Text string

// UnmarshalJSON accepts any value.
func (t *Text) UnmarshalJSON(b []byte) error {
	var s *string
	switch err := json.Unmarshal(b, &s); {
	case err != nil:
		*t = Text(b)
	case s == nil:
		*t = ""
	default:
		*t = Text(*s)
	}
	return nil
}

// messageLimit is the most characters of a foreign text that are shown: enough for the longest
// sentence that came up, and short enough for a log line.
const messageLimit = 400

// parseError returns the code, the message and the faulty fields of an error's body, in any of its
// forms. A body without them becomes the message. Texts are unescaped first, then scrubbed, and
// then shortened, so that no half of a secret is left.
func parseError(body string, scrub func(string) string) (code, message string, fields []Field) {
	if strings.HasPrefix(strings.TrimSpace(body), "<") {
		return "", pageOf(body, scrub), nil
	}
	var b errorBody
	// A field of an unexpected type is left empty; the others are filled all the same.
	if err := json.Unmarshal([]byte(body), &b); errors.As(err, new(*json.SyntaxError)) {
		return "", Shorten(scrub(body)), nil
	}
	if len(b.Details) == 0 && json.Unmarshal([]byte(b.Detail), &b.Details) == nil {
		b.Detail = ""
	}
	var said []string
	for _, text := range []string{b.Desc, string(b.Error), string(b.Errors), string(b.Detail), string(b.Message)} {
		if text != "" {
			said = append(said, text)
		}
	}
	if said == nil && len(b.Details) == 0 {
		return "", Shorten(scrub(body)), nil
	}
	for _, d := range b.Details {
		f := Field{Msg: Shorten(scrub(d.Msg))}
		for i, part := range d.Loc {
			if name := fmt.Sprint(part); i > 0 || name != "body" {
				f.Loc = append(f.Loc, Shorten(scrub(name)))
			}
		}
		fields = append(fields, f)
	}
	message = Shorten(scrub(strings.Join(said, ": ")))
	if b.ID != "" {
		message = strings.TrimSpace(message + " (correlation_id " + Shorten(scrub(b.ID)) + ")")
	}
	return Shorten(scrub(b.Code)), message, fields
}

// withFields returns the message with the faulty fields, for an error that isn't a ValidationError.
func withFields(message string, wrong []Field) string {
	if wrong == nil {
		return message
	}
	return strings.TrimPrefix(message+": ", ": ") + (&ValidationError{wrong}).Error()
}

// page begins the message that is made of a page of HTML. Such a page often comes from a program
// that knows nothing of the request, such as a proxy.
const page = "a page of HTML"

// IsPage reports whether a message was made of a page of HTML.
func IsPage(words string) bool { return strings.HasPrefix(words, page) }

// nonText matches the parts of a page that aren't text for people.
var nonText = lazy.Regexp(`(?is)<(?:script|style)\b.*?</(?:script|style)\s*>|<!--.*?-->|<[^>]*>?`)

// pageOf returns the text of a page of HTML as a message.
func pageOf(body string, scrub func(string) string) string {
	text := Shorten(scrub(html.UnescapeString(nonText().ReplaceAllString(scrub(body), " "))))
	if text == "" {
		return page
	}
	return page + ": " + text
}

// tellsError reports whether a body is an error although its status means success: an object with
// nothing but an error in it. Such an object may have a status that is text only in the answer to a
// record, because jobs have a status too.
func tellsError(body []byte, record bool) bool {
	var all map[string]json.RawMessage
	if json.Unmarshal(body, &all) != nil {
		return false
	}
	found := false
	for name, value := range all {
		empty := bytes.Contains([]byte(` null false "" [] {} 0 `), []byte(" "+string(bytes.TrimSpace(value))+" "))
		switch strings.ToLower(name) {
		case "error", "errors", "error_code", "error_desc":
			found = found || !empty
		case "detail":
			found = found || !empty && len(all) == 1 // next to other fields it may mean anything
		case "error_desc_details", "error_description", "message", "code", "success", "timestamp", "path",
			"correlation_id":
		case "status":
			if !record && bytes.HasPrefix(value, []byte(`"`)) {
				return false
			}
		default:
			return false
		}
	}
	return found
}

// errInSuccess is the error of an answer whose status means success and whose body is an error.
var errInSuccess = errors.New("an error under a status that tells none")

// errorIn returns the failure for an answer whose status means success and whose body is an error,
// or isn't what was asked for.
func (x *exchange) errorIn(status int, text string) *failure {
	f := &failure{status: status, wrongKind: true, err: errInSuccess}
	var wrong []Field
	f.code, f.message, wrong = parseError(text, x.scrubber.scrub)
	f.message = withFields(f.message, wrong)
	return f
}

// Shorten makes one line of a foreign text, of at most 400 characters.
func Shorten(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if r := []rune(s); len(r) > messageLimit {
		return string(r[:messageLimit]) + " …"
	}
	return s
}
