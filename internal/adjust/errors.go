package adjust

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

var (
	// ErrAuth means that the service answered 401 or 403.
	ErrAuth = errors.New("authentication or permission refused, check service.token, service.account_id and the rights of the token's user")
	// ErrRejected means that the service answered 400 to a record of ad spend or of third-party sharing: it will never
	// take it.
	ErrRejected = errors.New("the record is refused")
	// ErrUnknown means that a record of ad spend or of third-party sharing was sent and may have been taken: no answer
	// came, or none that says so.
	ErrUnknown = errors.New("it isn't known whether the record was taken")
	// ErrTooSlow means twice a 504 or a time-out on a request that its caller can split. The cure is a smaller question.
	ErrTooSlow = errors.New("the query takes too long, ask for less at once")
)

// A refusal is one of the errors above in the words of one area.
type refusal struct {
	text string
	is   error
}

func (r *refusal) Error() string        { return r.text }
func (r *refusal) Is(target error) bool { return target == r.is }

// An Error tells what was asked, how often and for how long, and what came back last.
type Error struct {
	Op       string // such as "csv_report 2026-01-01:2026-01-07"
	Status   int    // of the last answer; 0 when there was none
	Code     string // the service's error_code
	Message  string // the service's own words, shortened, on one line
	Metric   string // the one that a 400 refuses, when its words say so
	AnyDays  bool   // the 400 is about a part of the query that is the same for all days
	Attempts int
	Elapsed  time.Duration // from the first slot to the end
	Err      error         // ErrAuth, ErrTooSlow, ErrRejected, ErrUnknown, the context's error, what broke the connection, the reader's own error
}

func (e *Error) Error() string {
	parts := []string{e.Op}
	if e.Attempts > 1 || e.Elapsed >= time.Second {
		s := "s"
		if e.Attempts == 1 {
			s = ""
		}
		parts = append(parts, fmt.Sprintf("%d attempt%s over %v", e.Attempts, s, round(e.Elapsed)))
	}
	parts = append(parts, outcome(e.Status, e.Code, e.Message, e.Err))
	if e.Metric != "" {
		parts = append(parts, fmt.Sprintf("the service refuses the metric %s, and says nothing against the rest of the query; "+
			"correct its name or leave it out (an event's metrics get other names when the event is renamed)", e.Metric))
	}
	return strings.Join(parts, ": ")
}

func (e *Error) Unwrap() error { return e.Err }

// Refusal is why the service will never take a record (ErrRejected), or not all of it (ErrPartly); empty: it may.
func (e *Error) Refusal() string {
	var partly *PartialError
	switch {
	case errors.As(e.Err, &partly):
		return "the service took a part of it: " + partly.Words
	case !errors.Is(e.Err, ErrRejected):
		return ""
	case e.Message == "":
		return fmt.Sprintf("the service answered %d", e.Status)
	}
	return fmt.Sprintf("the service answered %d: %s", e.Status, e.Message)
}

// outcome says in one line what came back.
func outcome(status int, code, message string, err error) string {
	var parts []string
	if status != 0 && status != http.StatusOK {
		// Not the server's status text: that is its free choice, even an echo of the token.
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status))))
	}
	for _, s := range []string{code, message} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if err != nil {
		parts = append(parts, err.Error())
	}
	return strings.Join(parts, ": ")
}

// A timeout is a wait that this client ended, not its caller.
type timeout struct {
	what  string
	after time.Duration
}

func (t *timeout) Error() string { return fmt.Sprintf("%s within %v", t.what, round(t.after)) }

func (t *timeout) Timeout() bool { return true }

// errorBody is the service's ErrorResponseModel.
type errorBody struct {
	Code    string `json:"error_code"`
	Desc    string `json:"error_desc"`
	Details []struct {
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	} `json:"error_desc_details"`
	Plain string `json:"error"` // the sharing endpoint's form
}

const messageLimit = 400 // runes: enough for the longest sentence seen, short enough for a log line

// words draws the code, the message and the fields that are wrong out of an error's body; text that isn't the service's
// own form is shown as it is. What was escaped is scrubbed after unescaping, and before half of it is cut away.
func words(body string, scrub func(string) string) (code, message string, fields []Field) {
	var b errorBody
	// A field of another type than expected is left empty; the others are filled all the same.
	if err := json.Unmarshal([]byte(body), &b); b.Desc+b.Plain == "" && len(b.Details) == 0 || errors.As(err, new(*json.SyntaxError)) {
		return "", shorten(scrub(body)), nil
	}
	for _, d := range b.Details {
		f := Field{Msg: shorten(scrub(d.Msg))}
		for i, part := range d.Loc {
			if name := fmt.Sprint(part); i > 0 || name != "body" {
				f.Loc = append(f.Loc, shorten(scrub(name)))
			}
		}
		fields = append(fields, f)
	}
	return shorten(scrub(b.Code)), shorten(scrub(b.Desc + b.Plain)), fields
}

func shorten(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if r := []rune(s); len(r) > messageLimit {
		return string(r[:messageLimit]) + " …"
	}
	return s
}
