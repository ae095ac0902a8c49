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
	"testing"
	"time"
)

var runStart = time.Now().UnixNano()

type inboundHost struct{}

// Behind is the same place, reached through a server of the test, whose handler gets the real one to call.
func (s Server) Behind(t *testing.T, wrap func(http.Handler) http.Handler) Server {
	t.Helper()
	real := s.addr
	target := &url.URL{Scheme: "http", Host: real}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if s.Scheme != "gs" { // there the host's name is a part of the signature; here of the route
				r.Out.Host = r.In.Host
			}
		},
		ModifyResponse: func(r *http.Response) error { // where a resumable upload goes on: through here as well
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

// A Cable is a connection to a server that can be made bad: a proxy of toxiproxy. It carries one toxic at a time.
type Cable struct {
	url string
}

// Cabled is the same place, reached through a cable.
func (s Server) Cabled(t *testing.T) (Server, *Cable) {
	t.Helper()
	if s.Scheme == "gs" {
		// This server answers only to the name that it was started with.
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

// Spoil puts a toxic on one direction of the cable: "upstream" goes to the server. The kinds and their attributes are
// at https://github.com/Shopify/toxiproxy#toxics.
func (c *Cable) Spoil(t *testing.T, kind, stream string, attributes map[string]int) {
	t.Helper()
	call(t, http.MethodPost, c.url+"/toxics", map[string]any{
		"name": "toxic", "type": kind, "stream": stream, "toxicity": 1, "attributes": attributes,
	}, nil)
}

// Mend takes the toxic off, and cuts the connections that stand, which it would still hold.
func (c *Cable) Mend(t *testing.T) {
	t.Helper()
	call(t, http.MethodDelete, c.url+"/toxics/toxic", nil, nil)
	for _, enabled := range []bool{false, true} {
		call(t, http.MethodPost, c.url, map[string]any{"enabled": enabled}, nil)
	}
}

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

// Busy answers 503 to the first n requests, as a store does for a while, and lets the rest through. seen counts them.
func Busy(n int64, seen func() int64) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if seen() <= n {
				// First to the end of what is sent: Azure's client gives its buffers back to the system at an answer that
				// comes sooner, and net/http, which still reads them, then ends the process.
				_, _ = io.Copy(io.Discard, r.Body)
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}
