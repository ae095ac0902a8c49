package transport

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type answers func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// Whoever looks on sees what each client waits for while it waits, and nothing before and after.
func TestWaitsAreSeen(t *testing.T) {
	for _, c := range []struct {
		name, after string
		status      int
		at          time.Duration
		want        string
	}{
		{"a back-off", "", 502, time.Millisecond, "0s 999ms 502"},
		{"no answer", "", 0, time.Millisecond, "0s 999ms no answer"},
		{"a pause", "12", 429, 2 * time.Second, "0s 10s 429"},
		{"a pause of a 503", "12", 503, 2 * time.Second, "0s 10s 503"},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			client, err := New(Options{HTTP: &http.Client{Transport: answers(func(r *http.Request) (*http.Response,
				error) {
				if tries++; tries > 1 {
					return &http.Response{StatusCode: 200, Request: r, Header: http.Header{}, Body: http.NoBody}, nil
				}
				if c.status == 0 {
					return nil, io.ErrUnexpectedEOF
				}
				return &http.Response{StatusCode: c.status, Request: r, Header: http.Header{"Retry-After": {c.after}},
					Body: io.NopCloser(strings.NewReader("{}"))}, nil
			})}})
			if err != nil {
				t.Fatal(err)
			}
			client.draw = func(n int64) int64 { return n }
			var w, others Waits
			go func() {
				_, err := client.Watched(&w).Do(t.Context(), Request{Op: "ask", URL: "http://service.test/",
					Method: http.MethodPost, Repeat: Doubtful})
				if err != nil {
					t.Error(c.name, err)
				}
			}()
			time.Sleep(c.at)
			if got := shown(&w); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
			time.Sleep(time.Minute)
			if got := shown(&w) + shown(&others); got != "0s 0s 0s 0s " {
				t.Errorf("%s, over: %s", c.name, got)
			}
		})
	}
}

// A queue at the limiter is as long as the wait of its last request; a wait that is given up is
// none.
func TestQueueIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1, 1, turns{})
		ctx, cancel := context.WithCancel(t.Context())
		var w Waits
		for range 5 {
			go func() {
				one := &wait{waits: &w}
				defer one.end()
				_ = l.wait(ctx, one) // until it's cancelled
			}()
		}
		time.Sleep(500 * time.Millisecond)
		if got := shown(&w); got != "3.5s 0s " {
			t.Error(got)
		}
		cancel()
		synctest.Wait()
		if got := shown(&w); got != "0s 0s " {
			t.Error(got)
		}
	})
}

func shown(w *Waits) string {
	limiter, backoff, why := w.Now()
	return limiter.String() + " " + backoff.String() + " " + why
}
