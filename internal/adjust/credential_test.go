package adjust

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/adjust/transport"
)

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
				if len(s.when()) != tt.requests || a.Attempts != tt.requests || src.refreshes != tt.refreshes ||
					m.Retries.Load() != int64(tt.requests-1) {
					t.Errorf("%d requests, %+v, %d refreshes", len(s.when()), a, src.refreshes)
				}
				if s.when()[len(s.when())-1] > 100*time.Millisecond {
					t.Errorf("came %v: a new token waits for nothing but its turn", s.when())
				}
			})
		})
	}
	t.Run("once a request", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			src := &fixed{tokens: []string{"old", "older", "good"}}
			c, _ := open(t, play(status(401), status(503), guarded401("good")), func(o *Options) { o.Token = src })
			if _, a, err := fetch(t.Context(), c, query()); !errors.Is(err, ErrAuth) || a.Attempts != 3 ||
				src.refreshes != 1 {
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
		src, err := transport.ParseToken("${file:/nowhere/at/all}", os.Getenv)
		if err != nil {
			t.Fatal(err)
		}
		c, _ := open(t, s, func(o *Options) { o.Token = src })
		_, _, err = fetch(t.Context(), c, query())
		if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(),
			"csv_report 2026-01-01:2026-01-07: read token from file /nowhere/at/all: ") || len(s.when()) > 0 {
			t.Errorf("%d requests, %v", len(s.when()), err)
		}
	})
}
