package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/bucket/buckettest"
)

// fake answers every request by one status and code, and takes note of them.
func fake(t *testing.T, status int, code string) (addr string, asked func() []*http.Request) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AZURE_STORAGE_ACCOUNT", "account")
	t.Setenv("AZURE_STORAGE_KEY", "a2V5")
	var mu sync.Mutex
	var requests []*http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		requests = append(requests, r)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/xml")
		w.Header().Set("X-Ms-Error-Code", code)
		w.Header().Set("ETag", `"made"`)
		w.Header().Set("Date", "Wed, 01 Jan 2031 00:00:00 GMT")
		w.WriteHeader(status)
		if status >= 300 {
			_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>Words.</Message></Error>", code)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), func() []*http.Request {
		mu.Lock()
		defer mu.Unlock()
		return requests
	}
}

const (
	s3    = "s3://bkt?region=us-east-1&use_path_style=true&endpoint=http://"
	azure = "azblob://bkt?protocol=http&localemu=true&domain="
)

// What a store answers to a write on a condition is a lost race, or says nothing of it.
func TestAnswersToConditions(t *testing.T) {
	version, absent := bucket.Condition{Version: "v"}, bucket.Condition{Absent: true}
	for _, c := range []struct {
		url    string
		status int
		code   string
		on     bucket.Condition
		want   error
	}{
		{s3, 412, "PreconditionFailed", version, bucket.ErrConflict},
		{s3, 412, "PreconditionFailed", absent, bucket.ErrConflict},
		{s3, 409, "ConditionalRequestConflict", version, bucket.ErrUnknown},
		{s3, 409, "ConditionalRequestConflict", absent, bucket.ErrUnknown},
		{s3, 404, "NoSuchKey", version, bucket.ErrUnknown},
		{s3, 404, "NoSuchBucket", version, nil},
		{s3, 403, "AccessDenied", version, fs.ErrPermission},
		{s3, 400, "InvalidArgument", version, nil},
		{azure, 412, "ConditionNotMet", version, bucket.ErrConflict},
		{azure, 409, "BlobAlreadyExists", absent, bucket.ErrConflict},
		{azure, 409, "LeaseIdMissing", version, nil},
	} {
		addr, _ := fake(t, c.status, c.code)
		_, err := buckettest.Open(t, c.url+addr).Put(t.Context(), "k", []byte("x"), c.on)
		for _, one := range []error{bucket.ErrConflict, bucket.ErrUnknown, bucket.ErrBusy, fs.ErrPermission,
			fs.ErrNotExist} {
			if errors.Is(err, one) != errors.Is(c.want, one) || err == nil {
				t.Errorf("%s %d %s: %v, which is %v: %v", c.url[:2], c.status, c.code, err, one, errors.Is(err, one))
			}
		}
	}
}

// A missing bucket is no missing object: a ledger would begin there anew.
func TestMissingBuckets(t *testing.T) {
	for _, c := range []struct {
		url, code string
		missing   bool
	}{{s3, "NoSuchKey", true}, {s3, "NoSuchBucket", false}, {azure, "BlobNotFound", true},
		{azure, "ContainerNotFound", false}} {
		addr, _ := fake(t, 404, c.code)
		if _, _, err := buckettest.Open(t, c.url+addr).Get(t.Context(), "k"); err == nil ||
			errors.Is(err, fs.ErrNotExist) != c.missing {
			t.Errorf("%s: %v", c.code, err)
		}
	}
}

// What is in memory is one request on every store, with its condition, and without a content
// encoding, whatever its size: on Azure Put Blob and no blocks. The version and the time are those
// of the answer.
func TestOneRequest(t *testing.T) {
	for _, url := range []string{s3, azure} {
		for _, size := range []int{0, 10, 5 << 20, 9 << 20} {
			addr, asked := fake(t, 201, "")
			b := buckettest.Open(t, url+addr)
			version, err := b.Put(t.Context(), "k.json", make([]byte, size), bucket.Condition{Version: "v"})
			now, known, clockErr := b.Now(t.Context())
			if err != nil || version != "made" || clockErr != nil || !known || now.Year() != 2031 {
				t.Errorf("%d bytes: version %q (%v), at %v, known: %v (%v)", size, version, err, now, known, clockErr)
			}
			for i, r := range asked() {
				header := r.Header.Get("Content-Encoding")
				if i > 0 || r.Method != http.MethodPut || r.URL.Query().Has("comp") ||
					r.Header.Get("If-Match") != `"v"` || header != "" && header != "aws-chunked" {
					t.Errorf("%d bytes, request %d: %s %s %v", size, i, r.Method, r.URL, r.Header)
				}
			}
		}
	}
}

// silent never answers.
type silent struct{}

func (silent) Do(ctx context.Context, _ bucket.Call) (bucket.Answer, error) {
	<-ctx.Done()
	return bucket.Answer{}, ctx.Err()
}

// A call to a store that doesn't answer ends after a minute.
func TestSilentStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bucket.New("s3://b/ledger", silent{})
		for name, call := range map[string]func() error{
			"get":    func() error { _, _, err := b.Get(t.Context(), "k"); return err },
			"put":    func() error { _, err := b.Put(t.Context(), "k", nil, bucket.Condition{}); return err },
			"delete": func() error { return b.Delete(t.Context(), "k") },
		} {
			began := time.Now()
			if err := call(); !errors.Is(err, context.DeadlineExceeded) ||
				!strings.Contains(err.Error(), "s3://b/ledger/k: the store gave no good answer within 1m0s") ||
				time.Since(began) != time.Minute {
				t.Errorf("%s: after %v: %v", name, time.Since(began), err)
			}
		}
	})
}
