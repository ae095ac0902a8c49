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

	"cloud.google.com/go/bigquery"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
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
	return saying(status, fmt.Sprintf(`{"error":{"code":%d,"message":"connection reset","errors":[{"reason":%q}]}}`,
		status, reason))
}

func saying(status int, body string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))},
			nil
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

// calls are the calls that are made of the client here, of each kind one, besides uploads.
var calls = map[string]func(ctx context.Context, c *bigquery.Client, job *bigquery.Job) error{
	"datasets.get": func(ctx context.Context, c *bigquery.Client, _ *bigquery.Job) error {
		_, err := c.Dataset("ds").Metadata(ctx)
		return err
	},
	"tables.get": func(ctx context.Context, c *bigquery.Client, _ *bigquery.Job) error {
		_, err := c.Dataset("ds").Table("t").Metadata(ctx)
		return err
	},
	"tables.insert": func(ctx context.Context, c *bigquery.Client, _ *bigquery.Job) error {
		return c.Dataset("ds").Table("t").Create(ctx, &bigquery.TableMetadata{})
	},
	"tables.patch": func(ctx context.Context, c *bigquery.Client, _ *bigquery.Job) error {
		_, err := c.Dataset("ds").Table("t").Update(ctx, bigquery.TableMetadataToUpdate{Description: "x"}, "etag")
		return err
	},
	"jobs.get": func(ctx context.Context, c *bigquery.Client, _ *bigquery.Job) error {
		_, err := c.JobFromIDLocation(ctx, "j", "EU")
		return err
	},
	"jobs.get, status": func(ctx context.Context, _ *bigquery.Client, job *bigquery.Job) error {
		_, err := job.Status(ctx)
		return err
	},
	"jobs.cancel": func(ctx context.Context, _ *bigquery.Client, job *bigquery.Job) error { return job.Cancel(ctx) },
	"jobs.insert, query": func(ctx context.Context, c *bigquery.Client, _ *bigquery.Job) error {
		q := c.Query("SELECT 1")
		q.JobID = "j"
		_, err := q.Run(ctx)
		return err
	},
	"jobs.insert, load": func(ctx context.Context, c *bigquery.Client, _ *bigquery.Job) error {
		load := c.Dataset("ds").Table("t").LoaderFrom(bigquery.NewGCSReference("gs://b/o"))
		load.JobID = "j"
		_, err := load.Run(ctx)
		return err
	},
	"jobs.insert, small upload": func(ctx context.Context, c *bigquery.Client, _ *bigquery.Job) error {
		load := c.Dataset("ds").Table("t").LoaderFrom(bigquery.NewReaderSource(strings.NewReader("x")))
		load.JobID = "j"
		_, err := load.Run(ctx)
		return err
	},
}

// knownJob is one that the client has seen already.
func knownJob(t *testing.T, f *failing, c *bigquery.Client) *bigquery.Job {
	t.Helper()
	fail := f.fail
	f.fail = saying(200, `{"jobReference":{"projectId":"p","jobId":"j","location":"EU"},"status":{"state":"RUNNING"}}`)
	job, err := c.JobFromIDLocation(t.Context(), "j", "EU")
	if err != nil {
		t.Fatal(err)
	}
	f.fail, f.calls = fail, 0
	return job
}

func clientOn(t *testing.T, transport http.RoundTripper) *bigquery.Client {
	t.Helper()
	c, err := bigquery.NewClient(t.Context(), "p", option.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Fatal(err)
	}
	return c
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
		"500": {fail: answering(500, "internalError"), status: 500, reason: "internalError",
			remedy: retryInSeconds},
		"502 without reason": {fail: saying(502, "upstream: connection refused"), status: 502, remedy: retryInSeconds},
		"503": {fail: answering(503, "backendError"), status: 503, reason: "backendError",
			remedy: retryInSeconds},
		"504": {fail: answering(504, ""), status: 504, remedy: retryInSeconds},
		"rate": {fail: answering(403, "rateLimitExceeded"), status: 403, reason: "rateLimitExceeded",
			remedy: retryInSeconds},
		"job rate": {fail: answering(403, "jobRateLimitExceeded"), status: 403,
			reason: "jobRateLimitExceeded"},
		"quota": {fail: answering(403, "quotaExceeded"), status: 403, reason: "quotaExceeded",
			remedy: retryInHours},
		"404": {fail: answering(404, "notFound"), status: 404, reason: "notFound"},
		"409": {fail: answering(409, "duplicate"), status: 409, reason: "duplicate"},
		"412": {fail: answering(412, "conditionNotMet"), status: 412, reason: "conditionNotMet"},
		"reset": {fail: breaking(&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}),
			is: syscall.ECONNRESET, remedy: retryInSeconds},
		"refused": {fail: breaking(dialling(syscall.ECONNREFUSED)), is: syscall.ECONNREFUSED,
			remedy: retryInSeconds},
		"timeout":   {fail: breaking(temporary{syscall.ETIMEDOUT}), remedy: retryInSeconds},
		"http2":     {fail: breaking(errors.New("http2: client connection lost")), remedy: retryInSeconds},
		"no answer": {fail: breaking(io.ErrUnexpectedEOF), is: io.ErrUnexpectedEOF, remedy: retryInSeconds},
		"cut":       {fail: cut(io.ErrUnexpectedEOF), is: io.ErrUnexpectedEOF, remedy: retryInSeconds},
		"cut by a reset": {fail: cut(&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}),
			is: syscall.ECONNRESET, remedy: retryInSeconds},
	} {
		for call, do := range calls {
			t.Run(name+" "+call, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := &failing{fail: c.fail}
					client := clientOn(t, singleTry{f})
					job := knownJob(t, f, client)
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // in the bubble it is over at once
					defer cancel()
					err := unhide(do(ctx, client, job))
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

// Without once, the client asks until its context ends: were it ever to stop doing so, once could
// go.
func TestClientRepeatsByItself(t *testing.T) {
	for _, fail := range []func(*http.Request) (*http.Response, error){
		answering(503, "backendError"), answering(403, "rateLimitExceeded"), breaking(dialling(syscall.ECONNREFUSED)),
		cut(io.ErrUnexpectedEOF),
	} {
		for _, call := range []string{"datasets.get", "tables.insert", "tables.patch", "jobs.get", "jobs.cancel",
			"jobs.insert, query"} {
			synctest.Test(t, func(t *testing.T) {
				f := &failing{fail: fail}
				client := clientOn(t, f)
				job := knownJob(t, f, client)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if err := calls[call](ctx, client, job); !errors.Is(err, context.DeadlineExceeded) || f.calls < 100 {
					t.Errorf("%s: %d requests, %v", call, f.calls, err)
				}
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
				client := clientOn(t, singleTry{f})
				job := knownJob(t, f, client)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if errors.Is(want, context.Canceled) {
					time.AfterFunc(time.Second, cancel)
				}
				if err := unhide(do(ctx, client, job)); !errors.Is(err, want) || f.calls != 1 {
					t.Errorf("%s: %d requests, %v", call, f.calls, err)
				}
			})
		}
	}
}

// The chunks of an upload are sent again by what has made them; once sees to that alone which isn't
// an upload.
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
		load := clientOn(t, singleTry{f}).Dataset("ds").Table("t").LoaderFrom(
			bigquery.NewReaderSource(strings.NewReader(strings.Repeat("x", chunk+1))))
		load.MediaOptions = []googleapi.MediaOption{googleapi.ChunkSize(chunk)}
		if job, err := load.Run(t.Context()); err != nil || job.ID() != "j" || f.calls != 5 {
			t.Errorf("%d requests: %v", f.calls, err)
		}
	})
}

// What is brought back says where it happened, as it would have without singleTry.
func TestPlain(t *testing.T) {
	f := &failing{fail: breaking(dialling(syscall.ECONNREFUSED))}
	_, err := clientOn(t, singleTry{f}).JobFromIDLocation(t.Context(), "j", "EU")
	if strings.Contains(err.Error(), "refused") {
		t.Errorf("the client was told: %v", err)
	}
	const want = `Get "https://bigquery.googleapis.com/bigquery/v2/projects/p/jobs/j?`
	if err = unhide(err); !strings.HasPrefix(err.Error(), want) ||
		!strings.HasSuffix(err.Error(), "dial tcp: connection refused") {
		t.Error(err)
	}
	if call := new(url.Error); !errors.As(err, &call) {
		t.Errorf("%T", err)
	}
	if got := unhide(io.EOF); !errors.Is(got, io.EOF) || unhide(nil) != nil {
		t.Errorf("another's error became %v, and none %v", got, unhide(nil))
	}
}
