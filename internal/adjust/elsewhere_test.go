package adjust

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// What is nothing of what was asked for won't be it at the eighth attempt: it is final after two in
// a row, and the error says where it came from.
func TestElsewhere(t *testing.T) {
	body := func(contentType, text string) reply {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write([]byte(text))
		}
	}
	to := func(at string) reply {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", at)
			w.WriteHeader(http.StatusFound)
		}
	}
	login := body("text/html", "<title>Sign in</title>")
	for name, c := range map[string]struct {
		replies []reply
		sent    int
		want    string
	}{
		"HTML":              {[]reply{login}, 2, "a page of HTML: Sign in; a web site answers there: check"},
		"HTML under a name": {[]reply{body("text/csv", "<title>Sign in</title>")}, 2, "2 attempts"},
		"JSON": {[]reply{body("application/json", `{"rows":[]}`)}, 2,
			`the answer begins with "{\"rows\":[]}"`},
		"an error": {[]reply{body("application/json", `{"error_desc":"oops"}`)}, 2,
			"oops: an error under a status that tells none"},
		"nothing":            {[]reply{body("text/csv", "")}, 2, "the answer is empty"},
		"HTML, then a cut":   {[]reply{login, cut(5), login}, 4, "a page of HTML"},
		"a page for a while": {[]reply{login, csv}, 2, ""},
		"a login page": {[]reply{to("https://sso.test/login?next=reports"), login, to("https://sso.test/login"), login},
			4,
			"a page of HTML: Sign in; a web site answers at https://sso.test/login, where a redirect led: check"},
		"the wrong path": {[]reply{status(404)}, 1,
			"words of the service on 404; http://service.test/reports-service/csv_report was asked for: check the " +
				"address of the service in the config"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := play(c.replies...)
				client, _ := open(t, s, func(o *Options) {
					o.HTTP.Transport = plain{o.HTTP.Transport}
				})
				_, _, err := fetch(t.Context(), client, query())
				if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) ||
					shows(err.Error())) {
					t.Errorf("error %v, want %q", err, c.want)
				}
				if n := len(s.when()); n != c.sent {
					t.Errorf("%d requests, want %d", n, c.sent)
				}
			})
		})
	}
}

// plain asks every host without TLS.
type plain struct{ http.RoundTripper }

func (p plain) RoundTrip(r *http.Request) (*http.Response, error) {
	at := *r.URL
	asked := r.Clone(r.Context())
	at.Scheme, asked.URL = "http", &at
	resp, err := p.RoundTripper.RoundTrip(asked)
	if resp != nil {
		resp.Request = r
	}
	return resp, err
}

// A write follows no redirect, and says where it would have led.
func TestWhereAWriteIsSentOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://sso.test/login?next="+secretToken)
			w.WriteHeader(http.StatusFound)
		})
		c, _ := open(t, s, nil)
		_, err := c.SubmitEvents(t.Context(), []string{"abc"}, []EventSpec{{Name: "x"}})
		if err == nil || !strings.HasSuffix(err.Error(), "redirect not followed: it leads to https://sso.test/login") {
			t.Errorf("error %v", err)
		}
	})
}

// An address that somebody copied with the service's own path behind it is understood.
func TestAddressWithItsPath(t *testing.T) {
	for _, base := range []string{"", "/", "/reports-service", "/reports-service/", "/reports-service/csv_report",
		"/app-automation", "/reports-service/events/"} {
		synctest.Test(t, func(t *testing.T) {
			for _, before := range []string{"", "/control-center"} {
				s := play(csv)
				c, _ := open(t, s, func(o *Options) { o.BaseURL += before + base })
				if _, _, err := fetch(t.Context(), c, query()); err != nil {
					t.Error(err)
				}
				if path, _ := sent(t, s); path != "service.test"+before+"/reports-service/csv_report" {
					t.Errorf("%q asks %s", before+base, path)
				}
			}
		})
	}
}

// A 401 may have three causes, and its error names each; a 403 has another.
func TestUnauthorized(t *testing.T) {
	for code, want := range map[int][]string{
		401: {"unknown token", "another account", "foreign app tokens", "service.token", "service.account_id",
			"app_token__in"},
		403: {ErrAuth.Error()},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, _ := open(t, play(status(code)), nil)
			_, _, err := fetch(t.Context(), c, query())
			for _, words := range want {
				if !errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), words) {
					t.Errorf("%d: %v, want %q", code, err, words)
				}
			}
		})
	}
}
