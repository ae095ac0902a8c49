package adjust

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

func TestParseToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	env := map[string]string{"TOKEN": secretToken, "SPACED": " " + secretToken + "\n", "BAD": "two words", "LINE": "a\r\nX-Evil: b"}
	if err := os.WriteFile(file, []byte(secretToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, spec := range []string{"${TOKEN}", "${SPACED}", "${file:" + file + "}", "constant://?val=s3cr3t-T0ken/with%2Bsigns==&decoder=string",
		"constant://?val=s3cr3t-T0ken/with%2Bsigns==", "file://" + file + "?decoder=string"} {
		s, err := ParseToken(spec, func(k string) string { return env[k] })
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		for _, read := range []func() (string, error){
			func() (string, error) { return s.Token(t.Context()) }, func() (string, error) { return s.Refresh(t.Context()) }} {
			if got, err := read(); got != secretToken || err != nil {
				t.Errorf("%s: %q, %v", spec, got, err)
			}
		}
		if text := fmt.Sprintf("%v %+v %#v %s %q", s, s, s, s, s); shows(text) {
			t.Errorf("%s prints the token: %s", spec, text)
		}
	}
	for spec, want := range map[string]string{
		"${MISSING}":              "read token from environment variable MISSING: it is not set",
		"${BAD}":                  "read token from environment variable BAD: what is there isn't a bearer token",
		"${LINE}":                 "isn't a bearer token",
		"${file:" + file + ".no}": "no such file",
		"constant://?val=" + secretToken + "&bad=1":  "read token from constant:// variable: its address isn't understood",
		"constant://?val=%7B%7D&decoder=jsonmap":     "use decoder=string",
		"constant://?err=" + "gone":                  "gone",
		"file://" + file + ".none?decoder=string":    "no such file",
		"gcpsecretmanager://nonsense/" + secretToken: "its address isn't understood",
	} {
		s, err := ParseToken(spec, func(k string) string { return env[k] })
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		got, err := s.Token(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || got != "" || shows(err.Error()) || strings.Contains(err.Error(), "two words") {
			t.Errorf("%s: %q, %v, want %s", spec, got, err, want)
		}
	}
	for _, spec := range []string{"", secretToken, "Bearer " + secretToken, "$TOKEN", "${TOKEN", "${TO KEN}", "x${TOKEN}", "${file:}", "https://a.test/" + secretToken, "${vault:" + secretToken + "}"} {
		s, err := ParseToken(spec, func(string) string { return secretToken })
		if err == nil || s != nil || !strings.HasPrefix(err.Error(), "token: want ${ENV}") || shows(err.Error()) {
			t.Errorf("%q: %v, %v", spec, s, err)
		}
	}
}

// The token is kept in memory until a refresh.
func TestTokenIsKept(t *testing.T) {
	now := "one"
	s, err := ParseToken("${T}", func(string) string { return now })
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ env, want string }{{"one", "one"}, {"two", "one"}} {
		now = step.env
		if got, err := s.Token(t.Context()); got != step.want || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if got, err := s.Refresh(t.Context()); got != "two" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := s.Token(t.Context()); got != "two" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// A service that only takes want.
func guarded401(want string) reply {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+want {
			status(401)(w, r)
			return
		}
		csv(w, r)
	}
}

func TestRefreshOn401(t *testing.T) {
	for _, tt := range []struct {
		name                string
		tokens              []string
		requests, refreshes int
		ok                  bool
	}{
		{"a good token", []string{"good"}, 1, 0, true},
		{"a new token", []string{"old", "good"}, 2, 1, true},
		{"the same token again", []string{"old"}, 1, 1, false},
		{"a new one that is bad too", []string{"old", "older", "good"}, 2, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := &fixed{tokens: tt.tokens}
				s := play(guarded401("good"))
				c, m := open(t, s, func(o *Options) { o.Token = src; o.Attempts = 1 })
				_, a, err := fetch(t.Context(), c, query())
				if (err == nil) != tt.ok || errors.Is(err, ErrAuth) == tt.ok {
					t.Errorf("error %v", err)
				}
				if len(s.when()) != tt.requests || a.Attempts != tt.requests || src.refreshes != tt.refreshes || m.Retries.Load() != int64(tt.requests-1) {
					t.Errorf("%d requests, %+v, %d refreshes", len(s.when()), a, src.refreshes)
				}
				if s.when()[len(s.when())-1] != 0 {
					t.Errorf("came %v: a new token needs no wait", s.when())
				}
			})
		})
	}
	t.Run("once a request", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			src := &fixed{tokens: []string{"old", "older", "good"}}
			c, _ := open(t, play(status(401), status(503), guarded401("good")), func(o *Options) { o.Token = src })
			if _, a, err := fetch(t.Context(), c, query()); !errors.Is(err, ErrAuth) || a.Attempts != 3 || src.refreshes != 1 {
				t.Errorf("%d attempts, %d refreshes, %v", a.Attempts, src.refreshes, err)
			}
		})
	})
	t.Run("403 isn't the token's fault", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			src := &fixed{tokens: []string{"old", "good"}}
			c, _ := open(t, play(status(403)), func(o *Options) { o.Token = src })
			if _, _, err := fetch(t.Context(), c, query()); !errors.Is(err, ErrAuth) || src.refreshes != 0 {
				t.Errorf("%d refreshes, %v", src.refreshes, err)
			}
		})
	})
}

func TestNoToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(csv)
		src, err := ParseToken("${file:/nowhere/at/all}", os.Getenv)
		if err != nil {
			t.Fatal(err)
		}
		c, _ := open(t, s, func(o *Options) { o.Token = src })
		_, _, err = fetch(t.Context(), c, query())
		if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "csv_report 2026-01-01:2026-01-07: read token from file /nowhere/at/all: ") || len(s.when()) > 0 {
			t.Errorf("%d requests, %v", len(s.when()), err)
		}
	})
}
