package console

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const gateToken = "0123456789abcdef-secret"

// askedGate is the answer to a request that edit has changed.
func askedGate(h http.Handler, edit func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
	edit(r)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestGateWantsTheToken(t *testing.T) {
	var log strings.Builder
	h := newGate(gateToken, slog.New(slog.NewTextHandler(&log, nil))).wrap(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		_, _ = io.WriteString(w, "in")
	}))
	header := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", value) }
	}
	user := func(name, password string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth(name, password) }
	}
	for _, edit := range []func(*http.Request){header("Bearer " + gateToken), header("bearer " + gateToken),
		user("anyone", gateToken), user("", gateToken)} {
		if w := askedGate(h, edit); w.Code != http.StatusOK || w.Body.String() != "in" {
			t.Errorf("the token is refused: %d %s", w.Code, w.Body)
		}
	}
	var first string
	for i, edit := range []func(*http.Request){
		func(*http.Request) {}, header("Bearer "), header("Bearer " + gateToken + "x"),
		header("Bearer " + gateToken[1:]),
		header(gateToken), header("Digest " + gateToken), user(gateToken, ""),
		user("anyone", "wrong"), func(r *http.Request) { r.URL.RawQuery = "token=" + gateToken },
		func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookieName, Value: gateToken}) },
		func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookieName, Value: "99999999999."}) },
		func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookieName, Value: ""}) },
	} {
		w := askedGate(h, edit)
		if w.Code != http.StatusUnauthorized || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Basic ") ||
			len(w.Result().Cookies()) != 0 {
			t.Errorf("case %d: %d %v", i, w.Code, w.Header())
		}
		if first == "" {
			first = w.Body.String()
		}
		if w.Body.String() != first {
			t.Errorf("case %d is answered otherwise: %s", i, w.Body)
		}
	}
	if n := strings.Count(log.String(), "wrong token"); n != 1 {
		t.Errorf("wrong tokens are logged %d times in a minute, want once", n)
	}
	if strings.Contains(log.String(), gateToken[:8]) {
		t.Errorf("the log has what was guessed: %s", &log)
	}
}

func TestGateCookie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(gateToken, slog.New(slog.DiscardHandler))
		h := g.wrap(http.NotFoundHandler())
		login := func(edit func(*http.Request)) *http.Cookie {
			t.Helper()
			list := askedGate(h, func(r *http.Request) { r.SetBasicAuth("me", gateToken); edit(r) }).Result().Cookies()
			if len(list) != 1 {
				t.Fatalf("%d cookies after a login", len(list))
			}
			return list[0]
		}
		c := login(func(*http.Request) {})
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.Path != "/" || c.Domain != "" ||
			strings.Contains(c.Value, gateToken) {
			t.Errorf("the cookie: %+v", c)
		}
		if !login(func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") }).Secure {
			t.Error("behind TLS the cookie isn't Secure")
		}
		if askedGate(h, func(r *http.Request) {
			r.Header.Set("Authorization",
				"Bearer "+gateToken)
		}).Header().Get("Set-Cookie") != "" {
			t.Error("a script got a cookie")
		}
		with := func(h http.Handler, value string) int {
			return askedGate(h, func(r *http.Request) {
				r.AddCookie(&http.Cookie{Name: cookieName,
					Value: value})
			}).Code
		}
		_, signature, _ := strings.Cut(c.Value, ".")
		for value, want := range map[string]int{c.Value: 404, "9" + c.Value: 401, c.Value + "0": 401,
			"99999999999." + signature: 401} {
			if got := with(h, value); got != want {
				t.Errorf("cookie %s: %d, want %d", value, got, want)
			}
		}
		if with(newGate(gateToken, slog.New(slog.DiscardHandler)).wrap(http.NotFoundHandler()),
			c.Value) != http.StatusUnauthorized {
			t.Error("a cookie of another process is taken")
		}
		if code := askedGate(h, func(r *http.Request) {
			r.Header.Set("Authorization",
				"Bearer no")
			r.AddCookie(c)
		}).Code; code != http.StatusUnauthorized {
			t.Errorf("a wrong token with a good cookie: %d", code)
		}
		time.Sleep(cookieLife)
		if with(h, c.Value) != http.StatusUnauthorized {
			t.Error("the cookie outlives its time")
		}
	})
}
