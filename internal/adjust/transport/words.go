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

// errorBody is the service's ErrorResponseModel, and the other forms in which services tell an
// error.
type errorBody struct {
	Code    string  `json:"error_code"`
	Desc    string  `json:"error_desc"`
	Details []wrong `json:"error_desc_details"`
	ID      string  `json:"correlation_id"` // what the service's support asks for

	Error   Text `json:"error"` // the sharing endpoint's form
	Errors  Text `json:"errors"`
	Detail  Text `json:"detail"` // that of the framework FastAPI
	Message Text `json:"message"`
}

// wrong is a field and what is wrong with it.
type wrong struct {
	Loc []any  `json:"loc"`
	Msg string `json:"msg"`
}

// Text is a string of an answer. Where the service sends anything else, and its documents don't say
// what, it is that value's JSON; of null it is empty.
type Text string

// UnmarshalJSON takes any value.
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

const messageLimit = 400 // runes: enough for the longest sentence seen, short enough for a log line

// words draws the code, the message and the fields that are wrong out of an error's body, in
// whichever form it is; text that has none of them is shown as it is. What was escaped is scrubbed
// after unescaping, and before half of it is cut away.
func words(body string, scrub func(string) string) (code, message string, fields []Field) {
	if strings.HasPrefix(strings.TrimSpace(body), "<") {
		return "", pageOf(body, scrub), nil
	}
	var b errorBody
	// A field of another type than expected is left empty; the others are filled all the same.
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

// withFields is a message with what is wrong, for an error that isn't a ValidationError.
func withFields(message string, wrong []Field) string {
	if wrong == nil {
		return message
	}
	return strings.TrimPrefix(message+": ", ": ") + (&ValidationError{wrong}).Error()
}

// page begins the words of a page of HTML: who wrote it may know nothing of what was asked.
const page = "a page of HTML"

// IsPage tells words that are a page's.
func IsPage(words string) bool { return strings.HasPrefix(words, page) }

// unread is what nobody reads of a page.
var unread = lazy.Regexp(`(?is)<(?:script|style)\b.*?</(?:script|style)\s*>|<!--.*?-->|<[^>]*>?`)

// pageOf is what a page of HTML says to people.
func pageOf(body string, scrub func(string) string) string {
	text := Shorten(scrub(html.UnescapeString(unread().ReplaceAllString(scrub(body), " "))))
	if text == "" {
		return page
	}
	return page + ": " + text
}

// tellsError tells a body that is an error's, although its status says that all went well: an
// object with nothing but an error in it. Only the answer to a record can have the error's own
// status beside it, because jobs have one too.
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
			found = found || !empty && len(all) == 1 // beside others it may tell anything
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

var errTold = errors.New("an error under a status that tells none")

// errorIn is the failure of such an answer.
func (x *exchange) errorIn(status int, text string) *failure {
	f := &failure{status: status, odd: true, err: errTold}
	var wrong []Field
	f.code, f.message, wrong = words(text, x.veil.scrub)
	f.message = withFields(f.message, wrong)
	return f
}

// Shorten makes one line of a text of somebody else, of at most 400 characters.
func Shorten(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if r := []rune(s); len(r) > messageLimit {
		return string(r[:messageLimit]) + " …"
	}
	return s
}
