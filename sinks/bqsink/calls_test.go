package bqsink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	bq "google.golang.org/api/bigquery/v2"
	"google.golang.org/api/googleapi"
)

// failing answers every request with one failure, and counts the requests.
type failing struct {
	fail  func(r *http.Request) (*http.Response, error)
	calls int
}

func (f *failing) RoundTrip(r *http.Request) (*http.Response, error) {
	f.calls++
	return f.fail(r)
}

func answering(status int, reason string) func(*http.Request) (*http.Response, error) {
	return saying(status, fmt.Sprintf(`{"error":{"code":%d,"message":"connection reset","errors":[{"reason":%q}]}}`, status, reason))
}

func saying(status int, body string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func breaking(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// cut is an answer of which only the beginning comes.
func cut(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader(`{"kind":`), readFunc(func([]byte) (int, error) { return 0, err }))
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body)}, nil
	}
}

// dialling is the error of a connection that isn't made.
func dialling(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }

// temporary is what the client believes in.
type temporary struct{ error }

func (temporary) Temporary() bool { return true }
func (temporary) Timeout() bool   { return true }

// calls are the calls that a sink makes, of each kind one.
var calls = map[string]func(ctx context.Context, s *Sink) error{
	"datasets.get": func(ctx context.Context, s *Sink) error {
		return ask(s.client.Datasets.Get("p", "ds").Context(ctx).Do())
	},
	"tables.get": func(ctx context.Context, s *Sink) error {
		return ask(s.client.Tables.Get("p", "ds", "t").Context(ctx).Do())
	},
	"tables.insert": func(ctx context.Context, s *Sink) error { return s.insertTable(ctx, "t", &bq.Table{}) },
	"tables.patch": func(ctx context.Context, s *Sink) error {
		return ask(s.client.Tables.Patch("p", "ds", "t", &bq.Table{Description: "x"}).Context(ctx).Do())
	},
	"tables.delete": func(ctx context.Context, s *Sink) error {
		return s.client.Tables.Delete("p", "ds", "t").Context(ctx).Do()
	},
	"jobs.list": func(ctx context.Context, s *Sink) error {
		return s.client.Jobs.List("p").Pages(ctx, func(*bq.JobList) error { return nil })
	},
	"jobs.get":    func(ctx context.Context, s *Sink) error { return ask(s.getJob(ctx, "j")) },
	"jobs.cancel": func(ctx context.Context, s *Sink) error { return ask(s.client.Jobs.Cancel("p", "j").Context(ctx).Do()) },
	"jobs.get, status": func(ctx context.Context, s *Sink) error {
		return s.refresh(ctx, &bq.Job{JobReference: &bq.JobReference{ProjectId: "p", JobId: "j"}})
	},
	"jobs.insert, query": func(ctx context.Context, s *Sink) error {
		return ask(s.insertJob(ctx, "j", query("SELECT 1", nil)).Do())
	},
	"jobs.insert, small upload": func(ctx context.Context, s *Sink) error {
		return ask(s.insertJob(ctx, "j", &bq.JobConfiguration{Load: s.load("t", "PARQUET", nil)}).Media(strings.NewReader("x")).Do())
	},
}

// ask leaves out what was answered.
func ask[T any](_ T, err error) error { return err }

func sinkOn(t *testing.T, transport http.RoundTripper) *Sink {
	t.Helper()
	s, err := open(t.Context(), "bigquery://proj/ds", transport)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Whatever fails, a call of the client is one request, and what came back is known.
func TestOneRequestPerCall(t *testing.T) {
	for name, c := range map[string]struct {
		fail   func(*http.Request) (*http.Response, error)
		status int
		reason string
		is     error
		remedy remedy
	}{
		"500":                {fail: answering(500, "internalError"), status: 500, reason: "internalError", remedy: seconds},
		"502 without reason": {fail: saying(502, "upstream: connection refused"), status: 502, remedy: seconds},
		"503":                {fail: answering(503, "backendError"), status: 503, reason: "backendError", remedy: seconds},
		"504":                {fail: answering(504, ""), status: 504, remedy: seconds},
		"rate":               {fail: answering(403, "rateLimitExceeded"), status: 403, reason: "rateLimitExceeded", remedy: seconds},
		"job rate":           {fail: answering(403, "jobRateLimitExceeded"), status: 403, reason: "jobRateLimitExceeded"},
		"quota":              {fail: answering(403, "quotaExceeded"), status: 403, reason: "quotaExceeded", remedy: hours},
		"404":                {fail: answering(404, "notFound"), status: 404, reason: "notFound"},
		"409":                {fail: answering(409, "duplicate"), status: 409, reason: "duplicate"},
		"412":                {fail: answering(412, "conditionNotMet"), status: 412, reason: "conditionNotMet"},
		"reset":              {fail: breaking(&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}), is: syscall.ECONNRESET, remedy: seconds},
		"refused":            {fail: breaking(dialling(syscall.ECONNREFUSED)), is: syscall.ECONNREFUSED, remedy: seconds},
		"timeout":            {fail: breaking(temporary{syscall.ETIMEDOUT}), remedy: seconds},
		"http2":              {fail: breaking(errors.New("http2: client connection lost")), remedy: seconds},
		"no answer":          {fail: breaking(io.ErrUnexpectedEOF), is: io.ErrUnexpectedEOF, remedy: seconds},
		"cut":                {fail: cut(io.ErrUnexpectedEOF), is: io.ErrUnexpectedEOF, remedy: seconds},
		"cut by http2":       {fail: cut(errors.New("stream error: stream ID 3; INTERNAL_ERROR")), remedy: seconds},
		"cut by a reset":     {fail: cut(&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}), is: syscall.ECONNRESET, remedy: seconds},
	} {
		for call, do := range calls {
			t.Run(name+" "+call, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := &failing{fail: c.fail}
					s := sinkOn(t, f)
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // in the bubble it is over at once
					defer cancel()
					err := do(ctx, s)
					if err == nil || f.calls != 1 || ctx.Err() != nil {
						t.Fatalf("%d requests: %v", f.calls, err)
					}
					var answer *googleapi.Error
					errors.As(err, &answer)
					if c.status != 0 && (answer == nil || answer.Code != c.status || reason(answer) != c.reason) {
						t.Errorf("no %d %s: %v", c.status, c.reason, err)
					}
					if c.is != nil && (!errors.Is(err, c.is) || !strings.Contains(err.Error(), c.is.Error())) {
						t.Errorf("no %v: %v", c.is, err)
					}
					if remedyFor(err) != c.remedy {
						t.Errorf("remedy %d, want %d: %v", remedyFor(err), c.remedy, err)
					}
				})
			})
		}
	}
}

// An ended context is known as such, and nothing is asked again.
func TestEndedContextIsKnown(t *testing.T) {
	for _, want := range []error{context.Canceled, context.DeadlineExceeded} {
		for call, do := range calls {
			synctest.Test(t, func(t *testing.T) {
				f := &failing{fail: func(r *http.Request) (*http.Response, error) {
					<-r.Context().Done()
					return nil, r.Context().Err()
				}}
				s := sinkOn(t, f)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if errors.Is(want, context.Canceled) {
					time.AfterFunc(time.Second, cancel)
				}
				if err := do(ctx, s); !errors.Is(err, want) || f.calls != 1 {
					t.Errorf("%s: %d requests, %v", call, f.calls, err)
				}
			})
		}
	}
}

// The chunks of an upload are sent again by what has made them.
func TestChunksAreLeftToTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const chunk = 256 << 10
		f := new(failing)
		f.fail = func(r *http.Request) (*http.Response, error) {
			if r.Body != nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			switch f.calls {
			case 1:
				answer, err := saying(200, "")(r)
				answer.Header.Set("Location", r.URL.String()+"&upload_id=1")
				return answer, err
			case 2:
				return answering(503, "backendError")(r)
			case 3:
				return nil, dialling(syscall.ECONNREFUSED)
			case 4:
				answer, err := saying(200, "")(r)
				answer.Header.Set("X-Http-Status-Code-Override", "308")
				return answer, err
			}
			return saying(200, `{"jobReference":{"jobId":"j"},"status":{"state":"RUNNING"}}`)(r)
		}
		s := sinkOn(t, f)
		call := s.insertJob(t.Context(), "j", &bq.JobConfiguration{Load: s.load("t", "PARQUET", nil)})
		job, err := call.Media(strings.NewReader(strings.Repeat("x", chunk+1)), googleapi.ChunkSize(chunk)).Do()
		if err != nil || idOf(job) != "j" || f.calls != 5 {
			t.Errorf("%d requests: %v", f.calls, err)
		}
	})
}

// A failed call says where it happened.
func TestFailedCallSaysWhere(t *testing.T) {
	_, err := sinkOn(t, &failing{fail: breaking(dialling(syscall.ECONNREFUSED))}).getJob(t.Context(), "j")
	const want = `Get "https://bigquery.googleapis.com/bigquery/v2/projects/proj/jobs/j?`
	if call := new(url.Error); !errors.As(err, &call) || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "dial tcp: connection refused") {
		t.Errorf("%T %v", err, err)
	}
}
