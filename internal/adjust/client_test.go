package adjust

import (
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestNewRefuses(t *testing.T) {
	for want, edit := range map[string]func(*Options){
		"must look like https":  func(o *Options) { o.BaseURL = "" },
		"must look like https:": func(o *Options) { o.BaseURL = "ftp://a.test" },
		"must look like":        func(o *Options) { o.BaseURL = "automate.adjust.com" },
		"bare address":          func(o *Options) { o.BaseURL = "https://me:pass@a.test" },
		"a bare address":        func(o *Options) { o.BaseURL = "https://a.test/?token=" + secretToken },
		"no token source":       func(o *Options) { o.Token = nil },
		"rate -1":               func(o *Options) { o.Rate = -1 },
		"rate NaN":              func(o *Options) { o.Rate = math.NaN() },
		"not be negative":       func(o *Options) { o.Attempts = -1 },
	} {
		o := Options{BaseURL: "https://a.test", Token: &fixed{tokens: []string{"t"}}}
		edit(&o)
		c, err := New(o)
		if c != nil || err == nil || !strings.HasPrefix(err.Error(), "open service: ") || !strings.Contains(err.Error(), want) || shows(err.Error()) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestDefaults(t *testing.T) {
	o := withDefaults(Options{})
	if o.Rate != 10 || o.Burst != 20 || o.InFlight != 41 || o.Attempts != 8 || o.Patience != 15*time.Minute ||
		o.FirstByte != 5*time.Minute || o.Idle != 2*time.Minute || o.HTTP == nil || o.Rand == nil || o.Logger == nil {
		t.Errorf("%+v", o)
	}
	for rate, burst := range map[float64]int{0.1: 1, 0.7: 2, 2.2: 5} {
		if got := withDefaults(Options{Rate: rate}).Burst; got != burst {
			t.Errorf("rate %v has burst %d, want %d", rate, got, burst)
		}
	}
}

// The caller's HTTP client is not changed: its redirect policy is its own.
func TestHTTPClientIsCopied(t *testing.T) {
	mine := &http.Client{}
	if _, err := New(Options{BaseURL: "https://a.test", Token: &fixed{tokens: []string{"t"}}, HTTP: mine}); err != nil || mine.CheckRedirect != nil {
		t.Errorf("redirect policy set: %v, %v", mine.CheckRedirect != nil, err)
	}
}

// A certificate that isn't trusted won't be trusted at the eighth attempt either.
func TestUntrusted(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(csv))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	c, err := New(Options{BaseURL: s.URL, Token: &fixed{tokens: []string{secretToken}}})
	if err != nil {
		t.Fatal(err)
	}
	_, a, err := fetch(t.Context(), c, query())
	if err == nil || a.Attempts != 1 || !strings.Contains(err.Error(), "certificate") || strings.Contains(err.Error(), "metrics=") {
		t.Errorf("%d attempts, %v", a.Attempts, err)
	}
}

// A time-out while connecting says nothing of the query.
func TestTimedOut(t *testing.T) {
	late := &timeout{"x", time.Second}
	for _, tt := range []struct {
		err  error
		want bool
	}{{late, true}, {&net.OpError{Op: "read", Err: late}, true}, {&net.OpError{Op: "dial", Err: late}, false}, {io.ErrUnexpectedEOF, false}} {
		if timedOut(tt.err) != tt.want {
			t.Errorf("%#v: %v", tt.err, !tt.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	const at = "Mon, 02 Jan 2040 10:00:30 GMT"
	for _, tt := range []struct {
		after, date string
		want        time.Duration
	}{
		{"", "", 0}, {"5", "", 5 * time.Second}, {"-5", "", 0}, {"1.5", "", 0}, {"99999999999", "", 1e6 * time.Second},
		{"99999999999999999999999", "", 1e6 * time.Second}, {" 7 ", "", 7 * time.Second}, {"-99999999999999999999999", "", 0},
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
