package adjust

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// shows tells whether text holds the token, or half of it, in any spelling.
func shows(text string) bool {
	for _, s := range []string{secretToken, url.QueryEscape(secretToken), strings.ReplaceAll(secretToken, "/", `\/`),
		secretToken[:8], secretToken[len(secretToken)-8:]} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// A server may echo the token wherever it likes: no error and no log shows it, however they are
// printed.
func TestTokenIsScrubbed(t *testing.T) {
	const bearer = "Bearer " + secretToken
	filler := strings.Repeat("x", errorBodyLimit-7-len("filler "))
	body := func(code int, kind, body string) reply {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	to := func(at string) reply {
		return func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Location", at); w.WriteHeader(302) }
	}
	for name, r := range map[string]reply{
		"body":            body(400, "text/plain", "no good: "+bearer),
		"body of a retry": body(503, "text/plain", "no good: "+bearer),
		"JSON": body(401, "application/json",
			`{"error_code":"`+secretToken+`","error_desc":"`+bearer+` is unknown","error_desc_details":["`+secretToken+`"]}`),
		"JSON, escaped": body(403, "application/json", `{"oops":"`+strings.ReplaceAll(secretToken, "/",
			`\/`)+`"}`),
		"JSON, Unicode": body(403, "application/json",
			`{"error_desc":"`+strings.ReplaceAll(strings.ReplaceAll(secretToken, "+", `\u002b`), "=", `\u003d`)+`"}`),
		"JSON, cut": body(400, "application/json", `{"error_desc":"`+strings.Repeat("x",
			380)+secretToken+`"}`),
		"HTML, escaped": body(400, "text/html", "<p>"+strings.ReplaceAll(strings.ReplaceAll(bearer, "+", "&#43;"),
			"=", "&#61;")),
		"details": body(400, "application/json",
			`{"error_desc":"x","error_desc_details":[{"loc":["`+secretToken+`"],"msg":"`+bearer+`"}]}`),
		"long content type":  body(200, "text/"+strings.Repeat("x", 1980)+secretToken, "x"),
		"cut, escaped":       cutOff(strings.ReplaceAll(secretToken, "+", `\u002b`)[:20]),
		"escaped":            body(400, "text/plain", url.QueryEscape(bearer)+" "+url.PathEscape(bearer)),
		"cut in the middle":  body(400, "text/plain", strings.Repeat("x ", 190)+bearer+strings.Repeat(" y", 195)),
		"cut at the limit":   body(400, "text/plain", strings.Repeat(" ", errorBodyLimit-12)+secretToken),
		"cut by the server":  cutOff(secretToken[:9]),
		"behind much":        body(400, "text/plain", "filler "+filler+secretToken),
		"HTML":               body(200, "text/html", "<p>"+bearer),
		"content type":       body(200, "text/"+secretToken, "x"),
		"charset":            body(200, `text/csv; charset="`+secretToken+`"`, "x"),
		"status text":        raw("HTTP/1.1 401 "+bearer+"\nContent-Length: 0", nil),
		"status":             raw("HTTP/1.1 "+secretToken+" hm", nil),
		"header":             raw("HTTP/1.1 200 OK\n"+secretToken, nil),
		"Content-Length":     raw("HTTP/1.1 200 OK\nContent-Length: "+secretToken, nil),
		"Content-Encoding":   raw("HTTP/1.1 200 OK\nContent-Length: 1\nContent-Encoding: "+secretToken, []byte("x")),
		"Transfer-Encoding":  raw("HTTP/1.1 200 OK\nTransfer-Encoding: "+secretToken, nil),
		"redirect":           to("http://elsewhere.test/?auth=" + url.QueryEscape(bearer)),
		"redirect, unquoted": to("http://elsewhere.test/" + secretToken),
		"redirect, scheme":   to("ftp://elsewhere.test/" + secretToken),
		"redirect, broken":   to("http://[::1/" + secretToken),
		"redirect, home":     to("/reports-service/events?token=" + url.QueryEscape(secretToken)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				s := play(r)
				c, _ := open(t, s, func(o *Options) { o.Logger = slog.New(slog.NewJSONHandler(&log, nil)) })
				_, _, err := fetch(t.Context(), c, query())
				if err == nil {
					t.Fatal("no error")
				}
				for e := range chain(err) {
					if text := fmt.Sprintf("%v\n%+v\n%s\n%q", e, e, e, e); shows(text) || len(e.Error()) > errorLimit {
						t.Errorf("%T shows the token, or too much:\n%s", e, text)
					}
				}
				if shows(log.String()) {
					t.Errorf("the log shows the token:\n%s", log.String())
				}
				for _, at := range s.urls {
					if shows(at) {
						t.Errorf("an address holds the token: %s", at)
					}
				}
			})
		})
	}
}

// cutOff is an error body that ends within the token, with the connection.
func cutOff(half string) reply {
	return raw("HTTP/1.1 400 Bad Request\nContent-Length: 1000", []byte("bad: "+half))
}

// chain visits err and all that it wraps.
func chain(err error) func(func(error) bool) {
	return func(yield func(error) bool) {
		for todo := []error{err}; len(todo) > 0; {
			e := todo[0]
			todo = todo[1:]
			if e == nil {
				continue
			}
			if !yield(e) {
				return
			}
			switch u := e.(type) { //nolint:errorlint // this is the unwrapping itself
			case interface{ Unwrap() error }:
				todo = append(todo, u.Unwrap())
			case interface{ Unwrap() []error }:
				todo = append(todo, u.Unwrap()...)
			}
		}
	}
}

// A token source that fails, and the reader's own error, are scrubbed too, and still known by
// errors.Is.
func TestOtherErrorsAreScrubbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := open(t, play(csv), nil)
		mine := fmt.Errorf("row 1: %w: %s", errors.ErrUnsupported, secretToken)
		_, err := c.CSVReport(t.Context(), query(), func(io.Reader) error { return mine })
		if !errors.Is(err, errors.ErrUnsupported) || shows(err.Error()) {
			t.Errorf("error %v", err)
		}
	})
}

// Which headers go along on redirects, and what the error says when that isn't enough.
func TestRedirects(t *testing.T) {
	tests := []struct {
		name  string
		hops  []string // the Location of each answer in turn
		last  reply
		auth  []bool // whether each request held the token
		error string // "" when the answer is taken
	}{
		{"same host", []string{"/other"}, csv, []bool{true, true}, ""},
		{"another host", []string{"http://elsewhere.test/x"}, csv, []bool{true, false}, ""},
		{"a subdomain", []string{"http://a.service.test/x"}, csv, []bool{true, false}, ""},
		{"another port", []string{"http://service.test:81/x"}, csv, []bool{true, false}, ""},
		{"there and back", []string{"http://elsewhere.test/x", "http://service.test/y"}, csv,
			[]bool{true, false, false}, ""},
		{"another host wants a token", []string{"http://elsewhere.test/x"}, status(401), []bool{true, false},
			"401 Unauthorized: request_error: words of the service on 401: answered by elsewhere.test after a " +
				"redirect, where no token is sent: " + ErrAuth.Error()},
		{"in circles", slices.Repeat([]string{"/r"}, 30), csv, slices.Repeat([]bool{true}, 10),
			"redirect not followed: ten in a row"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var replies []reply
				for _, at := range tt.hops {
					replies = append(replies, func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Location", at)
						w.WriteHeader(307)
					})
				}
				s := play(append(replies, tt.last)...)
				c, m := open(t, s, func(o *Options) {
					o.AccountID = "4711"
					o.Token = &fixed{tokens: []string{secretToken, "changed"}} // reading it again is no help elsewhere
				})
				_, _, err := fetch(t.Context(), c, query())
				if tt.error == "" && err != nil || tt.error != "" &&
					(err == nil || !strings.HasSuffix(err.Error(), tt.error)) {
					t.Errorf("error %v, want %q", err, tt.error)
				}
				var auth []bool
				for _, h := range s.heads {
					auth = append(auth, h.Get("Authorization") != "")
					if (h.Get("X-Account-ID") != "") != (h.Get("Authorization") != "") || h.Get("Referer") != "" {
						t.Errorf("headers %v", h)
					}
				}
				if !slices.Equal(auth, tt.auth) || m.Requests.Load() != 1 {
					t.Errorf("the token went along %v, want %v", auth, tt.auth)
				}
			})
		})
	}
}
