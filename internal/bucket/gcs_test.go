package bucket_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/bucket/buckettest"
)

// Google's client leaves out writing an object when it repeats what was answered with 503; and what
// it does repeat, it repeats for ever.
func TestGCSRetries(t *testing.T) {
	for _, c := range []struct {
		refused, requests int64
		stored            bool
	}{{2, 3, true}, {1000, 8, false}} {
		var uploads atomic.Int64
		buckettest.GCS(t, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && uploads.Add(1) <= c.refused {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				next.ServeHTTP(w, r)
			})
		})
		_, err := buckettest.Open(t, "gs://bkt/a").Put(t.Context(), "k", []byte("rows"), bucket.Condition{Absent: true})
		if (err == nil) != c.stored || err != nil && !strings.Contains(err.Error(), "503") ||
			uploads.Load() != c.requests {
			t.Errorf("%d times 503: %d requests, want %d; %v", c.refused, uploads.Load(), c.requests, err)
		}
	}
}
