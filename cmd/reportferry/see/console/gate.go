package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	// cookieName is the name of the cookie that a browser gets for the token.
	cookieName = "reportferry_console"
	// cookieLife covers a working day. After it, a browser logs in again by itself as long as it
	// knows the password.
	cookieLife = 12 * time.Hour
)

// A gate checks whether requests bring the token. It keeps only a hash of the token, and is safe
// for concurrent use.
type gate struct {
	lock        atomic.Pointer[tokenLock]
	log         *slog.Logger
	wrongTokens rate.Sometimes // limits how often a wrong token is logged
}

// A tokenLock is the hash of a token, and the random key that signs the cookies given for that
// token. Cookies are therefore worth nothing to another process, nor after the token has changed.
type tokenLock struct{ token, key [sha256.Size]byte }

// newGate makes a gate that a token opens.
func newGate(token string, log *slog.Logger) *gate {
	g := &gate{log: log, wrongTokens: rate.Sometimes{Interval: time.Minute}}
	g.change(token)
	return g
}

// change replaces the token that opens the gate. Called with the current token, it does nothing.
func (g *gate) change(token string) {
	fresh := &tokenLock{token: sha256.Sum256([]byte(token))}
	if old := g.lock.Load(); old != nil && old.token == fresh.token {
		return
	}
	_, _ = rand.Read(fresh.key[:]) // never fails (crypto/rand)
	g.lock.Store(fresh)
}

// wrap passes requests on that bring the token as the password of any user, as a Bearer token, or
// by the cookie that a password earned. All others get the same answer.
func (g *gate) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.bringsToken(r) {
			g.refuse(w)
			return
		}
		if _, _, basic := r.BasicAuth(); basic {
			http.SetCookie(w, g.cookie(r, time.Now()))
		}
		next.ServeHTTP(w, r)
	})
}

// bringsToken tells whether a request brings the token, in one of the ways that wrap takes.
func (g *gate) bringsToken(r *http.Request) bool {
	if r.Header.Get("Authorization") == "" {
		c, err := r.Cookie(cookieName)
		return err == nil && g.isSigned(c.Value, time.Now())
	}
	_, password, basic := r.BasicAuth()
	if !basic {
		password = bearer(r)
	}
	given := sha256.Sum256([]byte(password))
	if subtle.ConstantTimeCompare(given[:], g.lock.Load().token[:]) == 1 {
		return true
	}
	g.wrongTokens.Do(func() {
		g.log.Warn("the console was asked with a wrong token; for a minute, no other such request is logged", "remote",
			r.RemoteAddr)
	})
	return false
}

// refuse answers a request that doesn't bring the token.
func (g *gate) refuse(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Basic realm="reportferry console", charset="UTF-8"`)
	http.Error(w, "The console wants its token: as the password, with any user name, or as Authorization: Bearer.",
		http.StatusUnauthorized)
}

// bearer returns the token of a header Authorization: Bearer, or an empty text.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// cookie returns a cookie whose value is the time when it expires, signed. X-Forwarded-Proto is a
// claim that anyone can make. It is believed because it can only make a browser stricter: a cookie
// that is Secure never goes over plain HTTP.
func (g *gate) cookie(r *http.Request, now time.Time) *http.Cookie {
	until := strconv.FormatInt(now.Add(cookieLife).Unix(), 10)
	return &http.Cookie{
		Name: cookieName, Value: until + "." + g.sign(until), Path: "/", MaxAge: int(cookieLife.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil ||
			strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	}
}

// sign returns the signature of an expiry time.
func (g *gate) sign(until string) string {
	m := hmac.New(sha256.New, g.lock.Load().key[:])
	m.Write([]byte(until))
	return hex.EncodeToString(m.Sum(nil))
}

// isSigned tells whether this gate signed the cookie, and it hasn't expired.
func (g *gate) isSigned(value string, now time.Time) bool {
	until, signature, _ := strings.Cut(value, ".")
	if !hmac.Equal([]byte(signature), []byte(g.sign(until))) {
		return false
	}
	end, err := strconv.ParseInt(until, 10, 64)
	return err == nil && now.Unix() < end
}
