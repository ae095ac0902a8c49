package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
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

// Error implements error; the text is for the log, the body of the answer is reply's.
func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Desc) }

// FieldError is one thing that is wrong with a request: where, from "body", "query" or "path" on, and what.
// Source: error_desc_details in the interface document; the words are those of the framework pydantic.
type FieldError struct {
	Loc []any  `json:"loc"`
	Msg string `json:"msg"`
}

// BadRequest is a 400; the text is error_desc.
func BadRequest(format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: CodeRequest, Desc: fmt.Sprintf(format, args...)}
}

// Forbidden is a 403.
func Forbidden(desc string) *Error {
	return &Error{Status: http.StatusForbidden, Code: CodeAuth, Desc: desc}
}

// NotFound is a 404 about the request's path.
func NotFound(r *http.Request) *Error {
	return &Error{Status: http.StatusNotFound, Code: CodeRequest, Desc: "Not found: " + r.URL.Path}
}

// Failed is a 500; the text is error_desc.
func Failed(desc string) *Error {
	return &Error{Status: http.StatusInternalServerError, Code: CodeService, Desc: desc}
}

// Reply is the answer that says the error: the service's error body as JSON.
func (e *Error) Reply() Reply {
	body, err := json.Marshal(struct {
		Code    string       `json:"error_code"`
		Desc    string       `json:"error_desc"`
		Details []FieldError `json:"error_desc_details,omitempty"`
	}{e.Code, e.Desc, e.Details})
	if err != nil {
		body = []byte(`{"error_code":"service_error","error_desc":"unprintable"}`)
	}
	return Reply{Status: e.Status, RetryAfter: e.RetryAfter, ContentType: "application/json", Body: body}
}

// Reply is the whole answer of an endpoint that changes something. It is complete before its first byte is sent, so that
// a fault can lose or break it after all was done.
type Reply struct {
	Status      int
	RetryAfter  int // seconds; 0 sends no Retry-After
	ContentType string
	Body        []byte
}

func (x *Exchange) send(a Reply) {
	x.Header().Set("Content-Type", a.ContentType)
	if a.RetryAfter > 0 {
		x.Header().Set("Retry-After", strconv.Itoa(a.RetryAfter))
	}
	x.WriteHeader(a.Status)
	_, _ = x.Write(a.Body) // a client that is gone needs no answer
}

// scripted makes the answer of a fault that asks for a status. Each endpoint has a way of its own to say an error.
type scripted func(status, retryAfter int) Reply

// ScriptedError is the way of reports and app automation: the service's error body.
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
	return (&Error{Status: status, Code: code, Desc: http.StatusText(status) + " (scripted)", RetryAfter: retryAfter}).Reply()
}
