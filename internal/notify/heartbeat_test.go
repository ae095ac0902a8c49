package notify

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// watcher is a server that hears heartbeats, and answers as it is told to.
func watcher(t *testing.T, answer http.HandlerFunc) (address string, heard func() []string) {
	var mu sync.Mutex
	var list []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		list = append(list, r.Method+" "+r.URL.String())
		mu.Unlock()
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/ping/secret-uuid?insecure=true", func() []string {
		mu.Lock()
		defer mu.Unlock()
		return list
	}
}

// A watcher hears the start, the success and the exit code of a failure, also of a run that was
// stopped.
func TestWhatAWatcherHears(t *testing.T) {
	address, heard := watcher(t, nil)
	beat, err := NewPoster().Heartbeat(address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	err = errors.Join(beat(ctx, "start"), beat(ctx, ""), beat(ctx, "3"))
	if got := strings.Join(heard(), ", "); got !=
		"POST /ping/secret-uuid/start, POST /ping/secret-uuid, POST /ping/secret-uuid/3" || err != nil {
		t.Errorf("%s %v", got, err)
	}
}

// A watcher that takes the connection and never answers is an error after beatTime.
func TestASilentWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPoster()
		p.Transport = silence()
		beat, err := p.Heartbeat("http://watcher.example/secret-uuid?insecure=true")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = beat(t.Context(), "start")
		if took := time.Since(began); took != beatTime || err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// silence is the way to a server that takes connections, and reads and writes nothing.
func silence() *http.Transport {
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		here, _ := net.Pipe()
		return here, nil
	}}
}

// A watcher that refuses, sends elsewhere or isn't there is an error, which doesn't say where it
// is.
func TestAWatcherThatFails(t *testing.T) {
	elsewhere, astray := watcher(t, nil)
	for name, answer := range map[string]http.HandlerFunc{
		"refuses": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.URL.String(),
				http.StatusForbidden)
		},
		"sends on": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere,
				http.StatusFound)
		},
		"isn't there": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := "http://user:pass@127.0.0.1:1/secret-uuid"
			if answer != nil {
				address, _ = watcher(t, answer)
			}
			beat, err := NewPoster().Heartbeat(address)
			if err != nil {
				t.Fatal(err)
			}
			err = beat(t.Context(), "start")
			if err == nil || slices.ContainsFunc([]string{"secret", "pass", elsewhere},
				func(s string) bool { return strings.Contains(err.Error(), s) }) {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		if len(astray()) > 0 {
			t.Errorf("a heartbeat went astray: %v", astray())
		}
	})
	for _, wrong := range []string{"", "secret-uuid", "ftp://secret", "https://", "://secret"} {
		if _, err := NewPoster().Heartbeat(wrong); err == nil || strings.Contains(err.Error(), "secret-uuid") ||
			strings.Contains(err.Error(), "//secret") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}
