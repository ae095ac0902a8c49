package transport

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

var (
	// ErrAuth means that the service answered 401 or 403.
	ErrAuth = errors.New("check service.token, service.account_id and the rights of the token's user")
	// ErrUnknown means that a record of ad spend or of third-party sharing was sent and may have
	// been taken: no answer came, or none that says so.
	ErrUnknown = errors.New("it isn't known whether the record was taken")
	// ErrTooSlow means twice a 504 or a time-out, or an answer that is longer than MaxAnswer, on a
	// request that its caller can split. The cure is a smaller question.
	ErrTooSlow = errors.New("the query takes too long, ask for less at once")
	// ErrUnreachable means that other requests would fare no better now: nothing listens there, a
	// proxy doesn't lead there, or the service asks for a pause that can't be waited out. It is in
	// no message.
	ErrUnreachable = errors.New("the service isn't there")
)

// An awayError is an error that is ErrUnreachable too.
type awayError struct{ error }

func (a *awayError) Unwrap() []error { return []error{a.error, ErrUnreachable} }

// An Error tells what was asked, how often and for how long, and what came back last.
type Error struct {
	Op       string   // such as "csv_report 2026-01-01:2026-01-07"
	Status   int      // of the last answer; 0 when there was none
	Code     string   // the service's error_code
	Message  string   // the service's own words, shortened, on one line
	At       string   // the address that answered, without its query, if it is probably a wrong one; else empty
	Metric   string   // the metric that a 400 refuses, when its words name one
	Apps     []string // the apps of the query that a 400 or 403 refuses, when its words name them
	AnyDays  bool     // the refusal is about a part of the query that is the same for all days
	Attempts int
	Elapsed  time.Duration // from the first slot to the end
	// What went wrong: ErrAuth, ErrTooSlow, ErrUnknown, an endpoint's own error, the context's
	// error, what broke the connection, or the error of the function that read the answer.
	Err error
}

func (e *Error) Error() string {
	parts := []string{e.Op}
	if e.Attempts > 1 || e.Elapsed >= time.Second {
		s := "s"
		if e.Attempts == 1 {
			s = ""
		}
		parts = append(parts, fmt.Sprintf("%d attempt%s over %v", e.Attempts, s, Round(e.Elapsed)))
	}
	cause := e.Err
	if e.Status/100 == 2 && IsPage(e.Message) && !errors.Is(cause, ErrUnknown) {
		cause = nil // it is about the content type only; the page says more
	}
	said := outcome(e.Status, e.Code, e.Message, cause)
	if e.Metric != "" {
		said = fmt.Sprintf("the service refuses the metric %s (%s)", e.Metric, said)
	}
	parts = append(parts, said)
	return strings.Join(parts, ": ") + e.elsewhere()
}

// elsewhere suggests what to check when the answer likely isn't the service's (a proxy refused,
// there is no such host, nothing listens there, or a web site answers), or to wait when the service
// itself has a problem.
func (e *Error) elsewhere() string {
	var refused *proxyError
	switch {
	case errors.As(e.Err, &refused):
		return "; check HTTPS_PROXY and NO_PROXY, and what the proxy allows"
	case e.Status == http.StatusNotFound && e.At != "" && e.Err == nil:
		return "; " + e.At + " was asked for: check the address of the service in the config"
	case e.Status == 0 && neverConnected(e.Err):
		return "; check the network, and the address of the service in the config"
	case e.Status >= http.StatusInternalServerError && e.Status != http.StatusGatewayTimeout && e.Err == nil:
		return "; the service itself has a problem: run it again later"
	case e.Status/100 == 2 && IsPage(e.Message):
		there := "there"
		if e.At != "" {
			there = "at " + e.At + ", where a redirect led"
		}
		return "; a web site answers " + there +
			": check the address of the service in the config, which for reports is mostly https://automate.adjust.com"
	}
	return ""
}

func (e *Error) Unwrap() error { return e.Err }

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

// A timeoutError is a wait that this client ended, not its caller.
type timeoutError struct {
	what  string // what didn't come, such as "no first byte"
	after time.Duration
}

func (t *timeoutError) Error() string { return fmt.Sprintf("%s within %v", t.what, Round(t.after)) }

func (t *timeoutError) Timeout() bool { return true }

// A ValidationError is what the service has against the data that it was sent: the
// error_desc_details of a 422.
type ValidationError struct {
	Fields []Field // none when the service doesn't tell
}

// A Field is one thing that is wrong.
type Field struct {
	Loc []string // the way to the field, without the service's leading "body": channel_setup, facebook, app_id
	Msg string   // such as "Field required"
}

// fieldsShown is how many fields the text of a ValidationError names.
const fieldsShown = 50

// Error names every field: "channel_setup.facebook.app_id: Field required; platform: Field
// required".
func (e *ValidationError) Error() string {
	var parts []string
	for i, f := range e.Fields {
		if i == fieldsShown {
			parts = append(parts, fmt.Sprintf("and %d more", len(e.Fields)-i))
			break
		}
		parts = append(parts, f.String())
	}
	if parts == nil {
		return "the service refuses the data, and doesn't say which field"
	}
	return strings.Join(parts, "; ")
}

func (f Field) String() string {
	switch at := strings.Join(f.Loc, "."); {
	case at == "":
		return f.Msg
	case f.Msg == "":
		return at
	default:
		return at + ": " + f.Msg
	}
}
