package emulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// The values of error_code in the service's error body.
const (
	codeRequest    = "request_error"
	codeAuth       = "auth_error"
	codeValidation = "validation_error"
	codeService    = "service_error"
)

// serviceError is an answer other than 200 and 204, with the service's error body.
type serviceError struct {
	status     int
	code, desc string
	details    []fieldError // of a validation error
	retryAfter int          // seconds; 0 sends no Retry-After
}

// Error implements error; the text is for the log, the body of the answer is reply's.
func (e *serviceError) Error() string { return fmt.Sprintf("%d %s: %s", e.status, e.code, e.desc) }

// fieldError is one thing that is wrong with a request: where, from "body", "query" or "path" on, and what.
// Source: error_desc_details in the interface document; the words are those of the framework pydantic.
type fieldError struct {
	Loc []any  `json:"loc"`
	Msg string `json:"msg"`
}

// badRequest is a 400; the text is error_desc.
func badRequest(format string, args ...any) *serviceError {
	return &serviceError{status: http.StatusBadRequest, code: codeRequest, desc: fmt.Sprintf(format, args...)}
}

// forbidden is a 403.
func forbidden(desc string) *serviceError {
	return &serviceError{status: http.StatusForbidden, code: codeAuth, desc: desc}
}

// notFound is a 404 about the request's path.
func notFound(r *http.Request) *serviceError {
	return &serviceError{status: http.StatusNotFound, code: codeRequest, desc: "Not found: " + r.URL.Path}
}

// failed is a 500; the text is error_desc.
func failed(desc string) *serviceError {
	return &serviceError{status: http.StatusInternalServerError, code: codeService, desc: desc}
}

func (e *serviceError) reply() reply {
	body, err := json.Marshal(struct {
		Code    string       `json:"error_code"`
		Desc    string       `json:"error_desc"`
		Details []fieldError `json:"error_desc_details,omitempty"`
	}{e.code, e.desc, e.details})
	if err != nil {
		body = []byte(`{"error_code":"service_error","error_desc":"unprintable"}`)
	}
	return reply{status: e.status, retryAfter: e.retryAfter, contentType: "application/json", body: body}
}

// reply is the whole answer of an endpoint that changes something. It is complete before its first byte is sent, so that
// a fault can lose or break it after all was done.
type reply struct {
	status      int
	retryAfter  int // seconds; 0 sends no Retry-After
	contentType string
	body        []byte
}

func (x *exchange) send(a reply) {
	x.Header().Set("Content-Type", a.contentType)
	if a.retryAfter > 0 {
		x.Header().Set("Retry-After", strconv.Itoa(a.retryAfter))
	}
	x.WriteHeader(a.status)
	_, _ = x.Write(a.body) // a client that is gone needs no answer
}

// scripted makes the answer of a fault that asks for a status. Each endpoint has a way of its own to say an error.
type scripted func(status, retryAfter int) reply

// scriptedError is the way of reports and app automation: the service's error body.
func scriptedError(status, retryAfter int) reply {
	code := codeRequest
	switch {
	case status >= 500:
		code = codeService
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		code = codeAuth
	case status == http.StatusUnprocessableEntity:
		code = codeValidation
	}
	return (&serviceError{status: status, code: code, desc: http.StatusText(status) + " (scripted)", retryAfter: retryAfter}).reply()
}
