package blobsink

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// Google's client leaves out writing an object when it repeats what was answered with 503; and what it does repeat, it
// repeats for ever.
func TestGCSRetries(t *testing.T) {
	for _, c := range []struct {
		refused, requests int64
		stored            bool
	}{{2, 3, true}, {1000, uploadTries, false}} {
		var uploads atomic.Int64
		var stored atomic.Bool // what comes afterwards asks whether the store holds preconditions
		startGCS(t, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && !stored.Load() && uploads.Add(1) <= c.refused {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				stored.Store(stored.Load() || r.Method == http.MethodPost)
				next.ServeHTTP(w, r)
			})
		})
		_, err := mustOpen(t, "gs://bkt/a").Put(t.Context(), part("rows"))
		if (err == nil) != c.stored || err != nil && !strings.Contains(err.Error(), "503") || uploads.Load() != c.requests {
			t.Errorf("%d times 503: %d requests, want %d; %v", c.refused, uploads.Load(), c.requests, err)
		}
	}
}
