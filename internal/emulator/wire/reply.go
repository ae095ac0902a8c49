package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/reading"
)

// The values of error_code in the service's error body.
const (
	CodeRequest    = "request_error"
	CodeAuth       = "auth_error"
	CodeValidation = "validation_error"
	CodeService    = "service_error"
)

// Error is an answer other than 200 and 204, with the service's error body.
type Error struct {
	Status     int
	Code, Desc string
	Details    []FieldError // of a validation error
	RetryAfter int          // seconds; 0 sends no Retry-After
}

// Error implements error. Its text is for the log; Reply makes the body of the answer.
func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Desc) }

// FieldError is one thing that is wrong with a request: where, from "body", "query" or "path" on,
// and what. Source: error_desc_details in the interface document; the words are those of the
// framework pydantic.
type FieldError struct {
	Loc []any  `json:"loc"`
	Msg string `json:"msg"`
}

// BadRequest returns a 400; the text is error_desc.
func BadRequest(format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: CodeRequest, Desc: fmt.Sprintf(format, args...)}
}

// Forbidden returns a 403.
func Forbidden(desc string) *Error {
	return &Error{Status: http.StatusForbidden, Code: CodeAuth, Desc: desc}
}

// NotFound returns a 404 about the request's path.
func NotFound(r *http.Request) *Error {
	return &Error{Status: http.StatusNotFound, Code: CodeRequest, Desc: "Not found: " + r.URL.Path}
}

// Failed returns a 500; the text is error_desc.
func Failed(desc string) *Error {
	return &Error{Status: http.StatusInternalServerError, Code: CodeService, Desc: desc}
}

// Reply returns the answer with the service's error body, as JSON.
func (e *Error) Reply() Reply {
	body, err := json.Marshal(struct {
		Code    string       `json:"error_code"`
		Desc    string       `json:"error_desc"`
		Details []FieldError `json:"error_desc_details,omitempty"`
	}{e.Code, e.Desc, e.Details})
	if err != nil {
		body = []byte(`{"error_code":"service_error","error_desc":"unprintable"}`)
	}
	return Reply{Status: e.Status, RetryAfter: e.RetryAfter, ContentType: "application/json", Body: body,
		errorText: e.Desc}
}

// Reply is the whole answer of an endpoint that changes something. It is complete before its first
// byte is sent, so that a fault can lose or break it after all was done.
type Reply struct {
	Status      int
	RetryAfter  int // seconds; 0 sends no Retry-After
	ContentType string
	Body        []byte

	errorText string // an error's words, from which readings make other bodies; "": not an error
}

// send writes a whole answer. An error gets the form of the chosen readings.
func (x *Exchange) send(a Reply) {
	if a.errorText != "" {
		if x.Correlates { // made of the error itself, so that answers come out the same everywhere
			id := sha256.Sum256(a.Body)
			a.Body = fmt.Appendf(bytes.TrimSuffix(a.Body, []byte("}")), `,"correlation_id":"%x-%x-%x-%x-%x"}`, id[:4],
				id[4:6], id[6:8], id[8:10], id[10:16])
		}
		a = a.underReading(x.Readings)
	}
	if a.ContentType != "" {
		x.Header().Set("Content-Type", a.ContentType)
	}
	if a.RetryAfter > 0 {
		x.retryAfter(a.RetryAfter)
	}
	x.WriteHeader(a.Status)
	_, _ = x.Write(a.Body) // a client that is gone needs no answer
}

// underReading returns an error's reply in the form that errors have under the chosen reading.
func (a Reply) underReading(chosen reading.Set) Reply {
	const plain, page = "text/plain; charset=utf-8", "text/html; charset=utf-8"
	switch form := chosen.Of(reading.ErrorBody); form {
	case "error", "detail":
		a.Body = fmt.Appendf(nil, "{%q:%s}", form, quoted(a.errorText))
	case "text":
		a.ContentType, a.Body = plain, []byte(a.errorText)
	case "html":
		a.ContentType, a.Body = page, fmt.Appendf(nil, "<!doctype html><title>%d</title><p>%s\n", a.Status,
			html.EscapeString(a.errorText))
	case "empty":
		a.ContentType, a.Body = "", nil
	}
	return a
}

// quoted returns a text as a JSON string.
func quoted(text string) []byte {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string is always written
	}
	return b
}

// retryAfter sets the header Retry-After, in the form of the chosen reading.
func (x *Exchange) retryAfter(seconds int) {
	switch x.Readings.Of(reading.RetryAfter) {
	case "seconds":
		x.Header().Set("Retry-After", strconv.Itoa(seconds))
	case "date":
		now, err := http.ParseTime(x.Header().Get("Date"))
		if err != nil {
			now = time.Now()
		}
		x.Header().Set("Retry-After", now.Add(time.Duration(seconds)*time.Second).UTC().Format(http.TimeFormat))
	}
}

// errorMaker makes the error reply of a fault that sets a status. Error bodies differ between
// endpoints, so that each passes a function of its own.
type errorMaker func(status, retryAfter int) Reply

// ScriptedError makes such a reply for reports and app automation, with the service's error body.
func ScriptedError(status, retryAfter int) Reply {
	code := CodeRequest
	switch {
	case status >= 500:
		code = CodeService
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		code = CodeAuth
	case status == http.StatusUnprocessableEntity:
		code = CodeValidation
	}
	return (&Error{Status: status, Code: code, Desc: http.StatusText(status) + " (scripted)",
		RetryAfter: retryAfter}).Reply()
}
