package blobsink

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/bucket/buckettest"
	"github.com/reportferry/reportferry/sinks"
	"github.com/reportferry/reportferry/sinks/sinktest"
)

func TestMem(t *testing.T) {
	sinktest.Run(t, func(t *testing.T) sinktest.Fixture {
		b := bucket.NewMemory()
		return sinktest.Fixture{Sink: closing(t, newSink(b, "mem://", defaultKey)), Visible: readBucket(b)}
	})
}

// The place is read with the file system's own calls, so that a file that gocloud hides is seen.
func TestFile(t *testing.T) {
	sinktest.Run(t, func(t *testing.T) sinktest.Fixture {
		dir := filepath.Join(t.TempDir(), "made", "by the sink")
		return sinktest.Fixture{Sink: mustOpen(t, "file://"+dir), Visible: readDir(dir)}
	})
}

func TestGCS(t *testing.T) {
	sinktest.Run(t, func(t *testing.T) sinktest.Fixture {
		buckettest.GCS(t, nil)
		return sinktest.Fixture{
			Sink:    mustOpen(t, "gs://bkt/exports/adjust"),
			Visible: readBucket(buckettest.Open(t, "gs://bkt/exports/adjust")),
		}
	})
}

func closing(t *testing.T, s sinks.Sink) sinks.Sink {
	t.Helper()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func mustOpen(t *testing.T, rawURL string) sinks.Sink {
	t.Helper()
	s, err := Open(context.Background(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return closing(t, s)
}

// readBucket gives what readers find: those of Parquet pass over names that begin with a dot.
func readBucket(b *bucket.Bucket) func(*testing.T) map[string][]byte {
	return func(t *testing.T) map[string][]byte {
		t.Helper()
		seen := map[string][]byte{}
		objects, err := b.List(context.Background(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			data, _, err := b.Get(context.Background(), o.Key)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if err == nil && !strings.HasPrefix(o.Key, ".") {
				seen[o.Key] = data
			}
		}
		return seen
	}
}
func readDir(dir string) func(*testing.T) map[string][]byte {
	return func(t *testing.T) map[string][]byte {
		t.Helper()
		seen := map[string][]byte{}
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || (err == nil && e.IsDir()) {
				return nil
			}
			if err != nil {
				return err
			}
			b, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			key, relErr := filepath.Rel(dir, path)
			seen[filepath.ToSlash(key)] = b
			return errors.Join(err, relErr)
		})
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
}

func part(content string) sinks.Part {
	return sinks.Part{
		Table: "installs", Partition: civil.Date{Year: 2026, Month: 1, Day: 31}, Size: int64(len(content)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil },
	}
}

const partKey = "installs/dt=2026-01-31/part-0.parquet"

func TestKey(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ query, key string }{
		{"", partKey},
		{"?key={table}/{date}.parquet", "installs/2026-01-31.parquet"},
		{"?key=lake/year/{date}/{table}-of-{table}.pq&create_dir=1", "lake/year/2026-01-31/installs-of-installs.pq"},
		{"?key=" + "%7Btable%7D%2F%7Bdate%7D%2Fx", "installs/2026-01-31/x"},
	} {
		receipt, err := mustOpen(t, "file://"+dir+c.query).Put(context.Background(), part(c.key))
		want := sinks.Receipt{Sink: "file://" + dir, Key: c.key, Size: int64(len(c.key)), Version: receipt.Version}
		if err != nil || receipt != want {
			t.Errorf("%s: %+v, %v; want %+v", c.query, receipt, err, want)
		}
		if b, err := os.ReadFile(filepath.Join(dir, c.key)); err != nil || string(b) != c.key {
			t.Errorf("%s: %q, %v", c.query, b, err)
		}
	}
}

func TestContentType(t *testing.T) {
	b := bucket.NewMemory()
	s := closing(t, newSink(b, "mem://", defaultKey))
	if _, err := s.Put(context.Background(), part("PAR1")); err != nil {
		t.Fatal(err)
	}
	a, err := b.Blob().Attributes(context.Background(), partKey)
	if err != nil || a.ContentType != "application/vnd.apache.parquet" {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestPutError(t *testing.T) {
	p := part("short")
	p.Size = 9
	_, err := mustOpen(t, "mem://").Put(context.Background(), p)
	const want = "put installs/dt=2026-01-31 to mem:, key installs/dt=2026-01-31/part-0.parquet: the file ends " +
		"after 5 of 9 bytes: unexpected EOF"
	if err == nil || strings.ReplaceAll(err.Error(), "mem://", "mem:") != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestBigPartOverGCSIsWhole(t *testing.T) {
	buckettest.GCS(t, nil)
	// Three pieces of a resumable upload, no rest.
	content := string(bytes.Repeat([]byte("0123456789abcdef"), 24<<20/16))
	if _, err := mustOpen(t, "gs://bkt").Put(context.Background(), part(content)); err != nil {
		t.Fatal(err)
	}
	if got := readBucket(buckettest.Open(t, "gs://bkt"))(t); string(got[partKey]) != content || len(got) != 1 {
		t.Errorf("%d keys, %d bytes", len(got), len(got[partKey]))
	}
}

// A store that is looked at, and says it holds another size than was sent, gives an error.
func TestStoredSizeIsCompared(t *testing.T) {
	buckettest.GCS(t, func(next http.Handler) http.Handler {
		next = ignoring(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/o/") {
				next.ServeHTTP(w, r)
				return
			}
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(answer.Code)
			_, _ = io.WriteString(w, strings.Replace(answer.Body.String(), `"size":"10"`, `"size":"9"`, 1))
		})
	})
	_, err := mustOpen(t, "gs://bkt").Put(context.Background(), part("ten bytes!"))
	if err == nil || !strings.Contains(err.Error(), "the store holds 9 bytes and the part has 10") {
		t.Errorf("got %v", err)
	}
}
