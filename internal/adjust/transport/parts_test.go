package transport

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

func TestDefaults(t *testing.T) {
	o := withDefaults(Options{})
	if o.Rate != 10 || o.Burst != 1 || o.InFlight != 8 || o.Reports != 3 || o.Attempts != 8 ||
		o.Patience != 15*time.Minute ||
		o.FirstByte != 5*time.Minute || o.Idle != 2*time.Minute || o.HTTP == nil || o.Rand == nil || o.Logger == nil {
		t.Errorf("%+v", o)
	}
	if o := withDefaults(Options{InFlight: 2}); o.Reports != 2 {
		t.Errorf("of 2 requests at most, %d are reports at first", o.Reports)
	}
}

// A time-out while connecting says nothing of the query.
func TestTimedOut(t *testing.T) {
	late := &timeoutError{"x", time.Second}
	for _, tt := range []struct {
		err  error
		want bool
	}{{late, true}, {&net.OpError{Op: "read", Err: late}, true}, {&net.OpError{Op: "dial", Err: late}, false},
		{io.ErrUnexpectedEOF, false}} {
		if timedOut(tt.err) != tt.want {
			t.Errorf("%#v: %v", tt.err, !tt.want)
		}
	}
}

// A header is there for other requests only when its secret is known: what the service answers to
// them may repeat it.
func TestASecretIsKnownBeforeItIsSent(t *testing.T) {
	c, known := &Credential{Header: "Authorization"}, &secrets{}
	known.mu.Lock() // the request that makes the header comes no further
	made := make(chan struct{})
	go func() {
		defer close(made)
		c.header(http.Header{}, "agent", "secret-of-the-test", known)
	}()
	for range 100 {
		time.Sleep(time.Millisecond)
		if c.last.Load() != nil {
			t.Error("another request can send a secret that nobody knows")
			break
		}
	}
	known.mu.Unlock()
	<-made
	h := c.header(http.Header{}, "agent", "secret-of-the-test", known)
	if said := known.scrub("sent by " + h.Get("Authorization")); said != "sent by Bearer "+tokenBlot {
		t.Error(said)
	}
}

func TestRetryAfter(t *testing.T) {
	const at = "Mon, 02 Jan 2040 10:00:30 GMT"
	for _, tt := range []struct {
		after, date string
		want        time.Duration
	}{
		{"", "", 0}, {"5", "", 5 * time.Second}, {"-5", "", 0}, {"1.5", "", 0}, {"99999999999", "", 1e6 * time.Second},
		{"99999999999999999999999", "", 1e6 * time.Second}, {" 7 ", "", 7 * time.Second},
		{"-99999999999999999999999", "", 0},
		{"Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 02 Jan 2040 10:00:00 GMT", 1e6 * time.Second},
		{at, "Mon, 02 Jan 2040 10:00:00 GMT", 30 * time.Second}, // by the server's clock, however wrong ours is
		{at, "Mon, 02 Jan 2040 10:01:00 GMT", 0}, {"Mon, 02 Jan 1990 10:00:30 GMT", "", 0},
	} {
		h := http.Header{"Retry-After": {tt.after}, "Date": {tt.date}}
		if got := retryAfter(h); got != tt.want {
			t.Errorf("Retry-After %q at %q: %v, want %v", tt.after, tt.date, got, tt.want)
		}
	}
}

// What isn't hidden stays as it is.
func TestBlotRuns(t *testing.T) {
	if got := blotRuns("cost_amount: not a number, 50% off", "3P4OXS8dMAQbqn4Y",
		"[cost_id]"); got != "cost_amount: not a number, 50% off" {
		t.Error(got)
	}
	if got := blotRuns("a 3p4oxs8dMAQbqn4y b", "3P4OXS8dMAQbqn4Y", "[cost_id]"); got != "a [cost_id] b" {
		t.Error(got)
	}
	if got := blotRuns("short: abc", "abc", "[cost_id]"); got != "short: [cost_id]" {
		t.Error(got)
	}
}
