package emulator

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/reportferry/reportferry/internal/faults"
)

// csvType is the Content-Type of every CSV answer.
const csvType = "text/csv; charset=utf-8"

// exchange is the ResponseWriter of one request. It remembers the status for the request log, and it carries what the
// endpoints need beside the request: the scripted fault that strikes it, and how long and until when it may wait.
type exchange struct {
	http.ResponseWriter
	fault   *fault          // nil: none
	closing context.Context // done once the server begins to close; nil: never
	latency time.Duration   // what wait waits before the endpoint answers
	status  int             // what was answered; 0 until then
}

// Unwrap is for http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WriteHeader sends the status line and remembers the status.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write sends bytes of the answer's body; without a WriteHeader before it, the status is 200.
func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	return x.ResponseWriter.Write(b)
}

// wait waits for the server's latency. When the client goes or the server closes before, it panics with
// http.ErrAbortHandler, because nobody waits for the answer.
func (x *exchange) wait(r *http.Request) { x.pause(r, x.latency) }

func (x *exchange) pause(r *http.Request, d time.Duration) {
	if d <= 0 {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if x.closing != nil {
		defer context.AfterFunc(x.closing, cancel)()
	}
	if faults.Sleep(ctx, d) != nil {
		panic(http.ErrAbortHandler)
	}
}

// fail answers with the service's error body.
func (x *exchange) fail(e *serviceError) { x.send(e.reply()) }

var gzips = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return z
}}

// body begins a 200 answer and returns where its bytes go: through gzip if the client accepts it, and through the
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

// plainBody is body for a format that is compressed already, such as Parquet.
func (x *exchange) plainBody(contentType string) io.WriteCloser {
	return x.start(&answerBody{x: x}, contentType)
}

func (x *exchange) start(b *answerBody, contentType string) io.WriteCloser {
	x.Header().Set("Content-Type", contentType)
	x.WriteHeader(http.StatusOK)
	if x.fault != nil && x.fault.Kind == faultCut {
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
	zip *gzip.Writer // nil: not compressed
}

// Write implements io.Writer.
func (b *answerBody) Write(p []byte) (int, error) {
	if b.zip != nil {
		return b.zip.Write(p)
	}
	return b.x.Write(p)
}

// Close ends the gzip stream and gives its writer back.
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

// cutBody ends the answer after left bytes, always within a row. It holds back the last two bytes, so that even an
// answer shorter than the cut loses the end of its last row and can't be taken for a whole one.
type cutBody struct {
	*answerBody
	left int64
	held []byte
}

// Write implements io.Writer; the write that reaches the cut doesn't return.
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

// Close cuts the answer too: it was shorter than the cut.
func (c *cutBody) Close() error {
	c.abort()
	return nil
}

// decodeStrict reads a JSON body into a struct; a field that the struct doesn't have is an error.
func decodeStrict(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	return d.Decode(into)
}

const formType = "application/x-www-form-urlencoded"

// isForm tells the Content-Type of a form.
func isForm(contentType string) bool {
	if contentType == formType {
		return true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == formType
}
