package blobsink

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reportferry/reportferry/internal/bucket/buckettest"
	"github.com/reportferry/reportferry/sinks"
)

// The store keeps the part, and its answer is lost: the client sends it again, and the condition
// refuses what this very put wrote.
func TestALostAnswerIsNoConflict(t *testing.T) {
	var lost atomic.Int64
	buckettest.GCS(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && lost.Add(1) == 1 {
				next.ServeHTTP(httptest.NewRecorder(), r)
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	s := mustOpen(t, "gs://bkt")
	p := part("rows")
	p.Over.Absent = true
	r, err := s.Put(t.Context(), p)
	if err != nil || lost.Load() < 2 || r.Version == "" {
		t.Fatalf("%+v, %v after %d uploads", r, err, lost.Load())
	}
	if _, err := s.Put(t.Context(), p); !errors.Is(err, sinks.ErrConflict) {
		t.Errorf("another put over nothing: %v", err)
	}
}

// ignoring takes the condition off every request.
func ignoring(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		q.Del("ifGenerationMatch")
		r.URL.RawQuery = q.Encode()
		next.ServeHTTP(w, r)
	})
}

// A store that takes preconditions and ignores them is reported once, and each put looks by itself.
func TestAStoreThatIgnoresPreconditions(t *testing.T) {
	buckettest.GCS(t, ignoring)
	s := mustOpen(t, "gs://bkt")
	var warnings []string
	put := func(content string, over sinks.Condition) (sinks.Receipt, error) {
		p := part(content)
		p.Over, p.Warn = over, func(err error) { warnings = append(warnings, err.Error()) }
		return s.Put(t.Context(), p)
	}
	first, err := put("first", sinks.Condition{Absent: true})
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0],
		"gs://bkt: the store doesn't honour conditions") {
		t.Fatalf("%v, warnings %q", err, warnings)
	}
	if _, err := put("second", sinks.Condition{Version: first.Version}); err != nil {
		t.Fatal(err)
	}
	for _, over := range []sinks.Condition{{Version: first.Version}, {Absent: true}} {
		if _, err := put("late", over); !errors.Is(err, sinks.ErrConflict) {
			t.Errorf("a late put over %+v: %v", over, err)
		}
	}
	if seen := readBucket(buckettest.Open(t, "gs://bkt"))(t); len(seen) != 1 || string(seen[partKey]) != "second" ||
		len(warnings) != 1 {
		t.Errorf("visible %q, warnings %q", seen, warnings)
	}
}

// What somebody else wrote in a bucket is told by the mark that every object of ours carries.
func TestSomebodyElsesObject(t *testing.T) {
	buckettest.GCS(t, nil)
	b := buckettest.Open(t, "gs://bkt")
	if err := b.Blob().WriteAll(t.Context(), partKey, []byte("by hand"), nil); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, "gs://bkt")
	p := part("rows")
	_, err := s.(*Sink).ConditionOf(t.Context(), p.Table, p.Partition, true)
	if !errors.Is(err, sinks.ErrForeign) || !strings.Contains(err.Error(), "7 bytes") ||
		!strings.Contains(err.Error(), "--force") {
		t.Errorf("a look: %v", err)
	}
	p.Over.Absent = true
	if _, err := s.Put(t.Context(), p); !errors.Is(err, sinks.ErrForeign) {
		t.Errorf("a put over nothing: %v", err)
	}
	over, err := s.(*Sink).ConditionOf(t.Context(), p.Table, p.Partition, false)
	if err != nil {
		t.Fatal(err)
	}
	p.Over = over
	if _, err := s.Put(t.Context(), p); err != nil {
		t.Errorf("forced: %v", err)
	}
	if over, err = s.(*Sink).ConditionOf(t.Context(), p.Table, p.Partition, true); err != nil || over.Version == "" {
		t.Errorf("a look at our own: %+v, %v", over, err)
	}
}

// Two URLs are one store only when nothing that says which store is meant differs.
func TestStore(t *testing.T) {
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_PROFILE",
		"STORAGE_EMULATOR_HOST", "AZURE_STORAGE_SAS_TOKEN"} {
		t.Setenv(name, "")
	}
	t.Chdir(t.TempDir()) // opening a folder creates it
	t.Setenv("AWS_ACCESS_KEY_ID", "S3CRET")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "S3CRET")
	t.Setenv("AZURE_STORAGE_KEY", "UzNDUkVU")
	store := func(rawURL string, env ...string) string {
		t.Setenv("AZURE_STORAGE_ACCOUNT", "acct")
		t.Setenv("STORAGE_EMULATOR_HOST", "127.0.0.1:1")
		for i := 0; i < len(env); i += 2 {
			t.Setenv(env[i], env[i+1])
		}
		id := mustOpen(t, rawURL).Store()
		if strings.Contains(id, "S3CRET") || strings.Contains(id, "UzND") {
			t.Errorf("%s: the identity %q has a secret in it", rawURL, id)
		}
		return id
	}
	for _, c := range []struct{ a, b string }{
		{store("file://./out"), store("file://./out/")},
		{store("gs://b/p"), store("gs://b/p/")},
		{store("s3://b/p?region=r"), store("s3://b/p/?region=r")},
		{store("azblob://c/p"), store("azblob://c/p/")},
		{store("s3://b?region=r"), store("s3://b", "AWS_REGION", "r")},
	} {
		if c.a != c.b {
			t.Errorf("%s and %s are one", c.a, c.b)
		}
	}
	t.Setenv("AWS_REGION", "")
	different := []string{
		store("file://./out"), store("file://./out?key=v2/{table}/{date}.parquet"), store("file://../out"),
		store("file:///out"),
		store("gs://b/p"), store("gs://b"), store("gs://b/p", "STORAGE_EMULATOR_HOST", "127.0.0.1:2"),
		store("s3://b/p?region=r"), store("s3://b/p?region=q"), store("s3://b/p?region=r&endpoint=http://127.0.0.1:1"),
		store("s3://b/p?region=r&endpoint=http://127.0.0.1:2"),
		store("s3://b/p?region=r", "AWS_ENDPOINT_URL_S3", "http://127.0.0.1:3"),
		store("azblob://c/p"), store("azblob://c/p", "AZURE_STORAGE_ACCOUNT", "other"),
		store("azblob://c/p?domain=127.0.0.1:1&protocol=http&localemu=true"),
	}
	for i, a := range different {
		for _, b := range different[:i] {
			if a == b {
				t.Errorf("%s is two stores", a)
			}
		}
	}
}
