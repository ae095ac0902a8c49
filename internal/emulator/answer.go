package emulator

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// The error_code values of the service's error body.
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

func (e *serviceError) Error() string { return fmt.Sprintf("%d %s: %s", e.status, e.code, e.desc) }

func badRequest(format string, args ...any) *serviceError {
	return &serviceError{status: http.StatusBadRequest, code: codeRequest, desc: fmt.Sprintf(format, args...)}
}

// notYet refuses what the interface document knows and this emulator doesn't serve.
func notYet(format string, args ...any) *serviceError {
	return badRequest("%s is not yet served by this emulator", fmt.Sprintf(format, args...))
}

// exchange is one request's answer: it remembers the status for the log and carries the request's fault.
type exchange struct {
	http.ResponseWriter
	fault   *Fault
	status  int
	started time.Time
}

func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	return x.ResponseWriter.Write(b)
}

func (x *exchange) fail(e *serviceError) { x.send(e.reply()) }

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

// scriptedError is the answer of a fault that asks for a status.
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

var gzips = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return z
}}

// body starts a 200 answer and returns where its bytes go: through gzip if the client accepts it, and through the
// request's cut if it has one. Close ends the answer.
func (x *exchange) body(r *http.Request, contentType string) io.WriteCloser {
	b := &answerBody{x: x}
	if acceptsGzip(r) {
		x.Header().Set("Content-Encoding", "gzip")
		b.zip = gzips.Get().(*gzip.Writer)
		b.zip.Reset(x)
	}
	x.Header().Set("Vary", "Accept-Encoding")
	return x.start(b, contentType)
}

// plainBody is body for what is compressed of itself.
func (x *exchange) plainBody(contentType string) io.WriteCloser {
	return x.start(&answerBody{x: x}, contentType)
}

func (x *exchange) start(b *answerBody, contentType string) io.WriteCloser {
	x.Header().Set("Content-Type", contentType)
	x.WriteHeader(http.StatusOK)
	if x.fault != nil && x.fault.Kind == FaultCut {
		return &cutBody{answerBody: b, left: max(x.fault.AfterBytes, 1)}
	}
	return b
}

func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(name, "gzip") && strings.ReplaceAll(params, " ", "") != "q=0" {
			return true
		}
	}
	return false
}

type answerBody struct {
	x   *exchange
	zip *gzip.Writer
}

func (b *answerBody) Write(p []byte) (int, error) {
	if b.zip != nil {
		return b.zip.Write(p)
	}
	return b.x.Write(p)
}

func (b *answerBody) Close() error {
	if b.zip == nil {
		return nil
	}
	err := b.zip.Close()
	gzips.Put(b.zip)
	b.zip = nil
	return err
}

// abort sends what was written so far and drops the connection without ending the answer.
func (b *answerBody) abort() {
	if b.zip != nil {
		_ = b.zip.Flush()
	}
	_ = http.NewResponseController(b.x).Flush()
	panic(http.ErrAbortHandler)
}

// cutBody ends the answer after left bytes, always within a row. It holds back the bytes whose loss must stay
// noticeable: a short answer loses its last two, so that even its last row is broken.
type cutBody struct {
	*answerBody
	left int64
	held []byte
}

func (c *cutBody) Write(p []byte) (int, error) {
	c.held = append(c.held, p...)
	if int64(len(c.held)) > c.left+1 {
		n := c.left
		if c.held[n-1] == '\n' {
			n++ // a cut between two rows would look like an end
		}
		_, _ = c.answerBody.Write(c.held[:n])
		c.abort()
	}
	if n := len(c.held) - 2; n > 0 {
		if _, err := c.answerBody.Write(c.held[:n]); err != nil {
			return 0, err
		}
		c.left -= int64(n)
		c.held = append(c.held[:0], c.held[n:]...)
	}
	return len(p), nil
}

func (c *cutBody) Close() error {
	c.abort()
	return nil
}
