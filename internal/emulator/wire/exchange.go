// Package wire has the exchange of a request and its answer, in the form that all parts of the
// emulated service share: error bodies, compression, and the scripted faults that lose or break an
// answer. Without it reports, app automation, sharing and spend would each have an idea of their
// own of what "the answer is lost" means.
//
//	request ── Struck or Instead ──┬── answered by the fault: nothing is done
//	                               └── the endpoint works ── Deliver or Body ──┬── the answer
//	                                                                           └── cut, empty or lost by the fault
//
// It knows HTTP and nothing of the account: only the endpoints know what requests and answers mean.
package wire

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

	"github.com/klauspost/compress/zstd"

	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/faults"
)

// CSV is the Content-Type of every CSV answer.
const CSV = "text/csv; charset=utf-8"

// Exchange is the ResponseWriter of one request. It remembers the status for the request log, and
// it carries what the endpoints need beside the request: the scripted fault that strikes it, and
// how long and until when it may wait.
type Exchange struct {
	http.ResponseWriter
	Fault   *Fault          // nil: none
	Closing context.Context // done once the server begins to close; nil: never
	Latency time.Duration   // how long Wait waits before the endpoint answers
	Status  int             // what was answered; 0 until then

	Correlates bool        // error bodies have a correlation_id, as those of the real reports do
	Readings   reading.Set // how the service does what its document leaves open
}

// Unwrap returns the writer below, for http.ResponseController.
func (x *Exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WriteHeader sends the status line and remembers the status.
func (x *Exchange) WriteHeader(status int) {
	if x.Status == 0 {
		x.Status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write sends bytes of the answer's body; without a WriteHeader before it, the status is 200.
func (x *Exchange) Write(b []byte) (int, error) {
	if x.Status == 0 {
		x.Status = http.StatusOK
	}
	return x.ResponseWriter.Write(b)
}

// Wait waits for the server's latency. If the client disconnects or the server closes meanwhile, it
// panics with http.ErrAbortHandler, because nobody waits for the answer.
func (x *Exchange) Wait(r *http.Request) { x.pause(r, x.Latency) }

func (x *Exchange) pause(r *http.Request, d time.Duration) {
	if d <= 0 {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if x.Closing != nil {
		defer context.AfterFunc(x.Closing, cancel)()
	}
	if faults.Sleep(ctx, d) != nil {
		panic(http.ErrAbortHandler)
	}
}

// Fail answers with the service's error body.
func (x *Exchange) Fail(e *Error) { x.send(e.Reply()) }

// A packer compresses an answer.
type packer interface {
	io.WriteCloser
	Flush() error
}

// gzips are gzip writers that are used again.
var gzips = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return z
}}

// Body begins a 200 answer and returns the writer of its body, which compresses as the client
// accepts it and cuts the answer off if the request's fault says so. Close ends the answer.
func (x *Exchange) Body(r *http.Request, contentType string) io.WriteCloser {
	b := &answerBody{exchange: x}
	switch coding := x.Readings.Of(reading.Coding); {
	case coding == "zstd" && accepts(r, "zstd"):
		x.Header().Set("Content-Encoding", "zstd")
		z, err := zstd.NewWriter(x, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(1<<20))
		if err != nil {
			panic(err) // the options are constants
		}
		b.packer, b.release = z, func() {}
	case coding != "identity" && accepts(r, "gzip"):
		x.Header().Set("Content-Encoding", "gzip")
		z := gzips.Get().(*gzip.Writer)
		z.Reset(x)
		b.packer, b.release = z, func() { gzips.Put(z) }
	}
	x.Header().Set("Vary", "Accept-Encoding")
	return x.start(b, contentType)
}

// PlainBody is Body for a format that is compressed already, such as Parquet.
func (x *Exchange) PlainBody(contentType string) io.WriteCloser {
	return x.start(&answerBody{exchange: x}, contentType)
}

// start sends the status and Content-Type of a 200 answer, and returns the writer of its body.
func (x *Exchange) start(b *answerBody, contentType string) io.WriteCloser {
	switch x.Readings.Of(reading.ReportType) {
	case "plain":
		contentType = "text/plain; charset=utf-8"
	case "octets":
		contentType = "application/octet-stream"
	case "json":
		contentType = "application/json"
	case "none":
		x.Header()["Content-Type"] = nil // net/http would guess one
	}
	if !x.Readings.Is(reading.ReportType, "none") {
		x.Header().Set("Content-Type", contentType)
	}
	x.WriteHeader(http.StatusOK)
	if x.Fault != nil && x.Fault.Kind == FaultCut {
		return &cutBody{answerBody: b, left: max(x.Fault.AfterBytes, 1)}
	}
	return b
}

// accepts tells whether the client accepts an answer in this Content-Encoding.
func accepts(r *http.Request, coding string) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(name, coding) && strings.ReplaceAll(params, " ", "") != "q=0" {
			return true
		}
	}
	return false
}

// answerBody writes the body of an answer.
type answerBody struct {
	exchange *Exchange
	packer   packer // nil: the body isn't compressed
	release  func() // gives packer back to its pool
}

// Write implements io.Writer.
func (b *answerBody) Write(p []byte) (int, error) {
	if b.packer != nil {
		return b.packer.Write(p)
	}
	return b.exchange.Write(p)
}

// Close ends the packed stream and gives its writer back.
func (b *answerBody) Close() error {
	if b.packer == nil {
		return nil
	}
	err := b.packer.Close()
	b.release()
	b.packer = nil
	return err
}

// abort sends what was written so far and drops the connection without ending the answer.
func (b *answerBody) abort() {
	if b.packer != nil {
		_ = b.packer.Flush()
	}
	_ = http.NewResponseController(b.exchange).Flush()
	panic(http.ErrAbortHandler)
}

// cutBody ends the answer after left bytes, always within a row. It holds back the last two bytes,
// so that even an answer shorter than the cut loses the end of its last row and can't be taken for
// a whole one.
type cutBody struct {
	*answerBody
	left int64  // bytes until the cut
	held []byte // bytes that aren't written yet
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

// Close cuts off an answer that was shorter than left.
func (c *cutBody) Close() error {
	c.abort()
	return nil
}

// DecodeStrict reads a JSON body into a struct; a field that the struct doesn't have is an error.
func DecodeStrict(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// FormType is the Content-Type of a form.
const FormType = "application/x-www-form-urlencoded"

// IsForm reports whether a Content-Type is that of a form.
func IsForm(contentType string) bool {
	if contentType == FormType {
		return true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == FormType
}
