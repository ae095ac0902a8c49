//go:build servers

package sinktest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// runStart tells names of this run from those of others.
var runStart = time.Now().UnixNano()

// inboundHost is the context key of the host that a client has sent its request to.
type inboundHost struct{}

// Behind returns the same place, reached through a server of the test. wrap gets a handler that
// forwards to the real server.
func (s Server) Behind(t *testing.T, wrap func(http.Handler) http.Handler) Server {
	t.Helper()
	real := s.addr
	target := &url.URL{Scheme: "http", Host: real}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if s.Scheme != "gs" { // S3 and Azure sign the host's name; with Google's protocol it is part of the route
				r.Out.Host = r.In.Host
			}
		},
		ModifyResponse: func(r *http.Response) error { // the next piece of a resumable upload takes this way too
			inbound, _ := r.Request.Context().Value(inboundHost{}).(string)
			if at := r.Header.Get("Location"); at != "" {
				r.Header.Set("Location", strings.Replace(at, "//"+real, "//"+inbound, 1))
			}
			return nil
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
	front := httptest.NewServer(wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), inboundHost{}, r.Host)))
	})))
	t.Cleanup(front.Close)
	s.addr = front.Listener.Addr().String()
	return s
}

// inOrder lets only one of the requests that read or make a whole object reach the server at a
// time, for each object. versitygw 1.8 keeps the ETag beside the object, and reads the two one
// after the other: while a writer replaces the object, a reader may get the content of one version
// with the ETag of the next. No S3 does that, and it would turn the reader's compare-and-swap into
// a lost update.
func inOrder(next http.Handler) http.Handler {
	var objects sync.Map
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.Method == http.MethodGet || r.Method == http.MethodPut && !q.Has("partNumber") ||
			r.Method == http.MethodPost && q.Has("uploadId") {
			lock, _ := objects.LoadOrStore(r.URL.Path, new(sync.Mutex))
			lock.(*sync.Mutex).Lock()
			defer lock.(*sync.Mutex).Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

// A Cable is a connection to a server that a test can break: a proxy of toxiproxy. It has one toxic
// at a time.
type Cable struct {
	url string // of the proxy in toxiproxy's API
}

// Cabled returns the same place, reached through a cable.
func (s Server) Cabled(t *testing.T) (Server, *Cable) {
	t.Helper()
	if s.Scheme == "gs" {
		// This server answers only requests for the address that it was started with.
		s = s.Behind(t, func(next http.Handler) http.Handler { return next })
	}
	name := fmt.Sprintf("%d-%d", runStart, places.Add(1))
	c := &Cable{url: "http://" + s.api + "/proxies/" + name}
	var made struct{ Listen string }
	call(t, http.MethodPost, "http://"+s.api+"/proxies", map[string]any{
		"name": name, "listen": "127.0.0.1:0", "upstream": s.addr, "enabled": true,
	}, &made)
	t.Cleanup(func() { call(t, http.MethodDelete, c.url, nil, nil) })
	s.addr = made.Listen
	return s, c
}

// Spoil adds a toxic to one direction of the cable; "upstream" is to the server. The kinds of
// toxics and their attributes are listed at https://github.com/Shopify/toxiproxy#toxics.
func (c *Cable) Spoil(t *testing.T, kind, stream string, attributes map[string]int) {
	t.Helper()
	call(t, http.MethodPost, c.url+"/toxics", map[string]any{
		"name": "toxic", "type": kind, "stream": stream, "toxicity": 1, "attributes": attributes,
	}, nil)
}

// Mend removes the toxic and cuts the open connections, which the toxic would still affect.
func (c *Cable) Mend(t *testing.T) {
	t.Helper()
	call(t, http.MethodDelete, c.url+"/toxics/toxic", nil, nil)
	for _, enabled := range []bool{false, true} {
		call(t, http.MethodPost, c.url, map[string]any{"enabled": enabled}, nil)
	}
}

// call sends a request to toxiproxy's API.
func call(t *testing.T, method, url string, body, answer any) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Error(err)
		return
	}
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, url, bytes.NewReader(data))
	if err != nil {
		t.Error(err)
		return
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Errorf("toxiproxy: %v", err)
		return
	}
	defer got.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(got.Body)
	if err != nil || got.StatusCode >= 300 {
		t.Errorf("toxiproxy: %s %s: %s %s %v", method, url, got.Status, text, err)
		return
	}
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			t.Errorf("toxiproxy: %s: %v", text, err)
		}
	}
}

// Busy answers the first n requests with 503, as an overloaded store does, and lets the others
// through. count returns how many requests have come.
func Busy(n int64, count func() int64) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if count() <= n {
				// The body is read to its end first. When an answer comes sooner, Azure's client
				// unmaps its buffers while net/http still reads them, which ends the process.
				_, _ = io.Copy(io.Discard, r.Body)
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}
