package adjust

import (
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/adjust/transport"
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
		if c != nil || err == nil || !strings.HasPrefix(err.Error(), "open service: ") ||
			!strings.Contains(err.Error(), want) || shows(err.Error()) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The caller's HTTP client is not changed: its redirect policy is its own.
func TestHTTPClientIsCopied(t *testing.T) {
	mine := &http.Client{}
	if _, err := New(Options{BaseURL: "https://a.test", Token: &fixed{tokens: []string{"t"}},
		Options: transport.Options{HTTP: mine}}); err != nil || mine.CheckRedirect != nil {
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
	if err == nil || a.Attempts != 1 || !strings.Contains(err.Error(), "certificate") ||
		strings.Contains(err.Error(), "metrics=") {
		t.Errorf("%d attempts, %v", a.Attempts, err)
	}
}
