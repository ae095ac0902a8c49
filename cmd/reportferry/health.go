package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/loopback"
	"github.com/reportferry/reportferry/jobs"
)

// health is what GET /healthz answers, as JSON.
type health struct {
	Status string      `json:"status"` // "failing" when the last look of any job ended with another code than 0, else "ok"
	Jobs   []jobHealth `json:"jobs"`
}

// A jobHealth says what a job did last and when its schedule fires next.
type jobHealth struct {
	Job     string    `json:"job"`
	Running bool      `json:"running"`
	Last    *look     `json:"last,omitempty"`
	Next    time.Time `json:"next"`
}

// health reports on all jobs. The answer is 200 even when a job fails: restarting the daemon, which is what probes do after an
// error, wouldn't mend it.
func (d *daemon) health(now time.Time) health {
	h := health{Status: "ok"}
	for _, s := range d.jobs {
		s.mu.Lock()
		j := jobHealth{Job: s.name, Running: s.running, Last: s.last, Next: s.schedule.Next(now)}
		s.mu.Unlock()
		if j.Last != nil && j.Last.Exit != jobs.ExitDone {
			h.Status = "failing"
		}
		h.Jobs = append(h.Jobs, j)
	}
	return h
}

// serveHealth answers GET /healthz, and GET /metrics by a handler, until stop is called. It takes loopback addresses only, because there is no login.
func (d *daemon) serveHealth(ctx context.Context, addr string, metrics http.Handler, stderr io.Writer) (stop func(), err error) {
	if err := loopback.Check("--health", addr); err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--health: %w", err)
	}
	fmt.Fprintf(stderr, "serving; http://%s/healthz says how it goes\n", listener.Addr())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(d.health(time.Now())) // the caller may have gone away
	})
	mux.Handle("GET /metrics", metrics)
	server := &http.Server{Handler: loopback.KnownHosts(addr, mux), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // Close ends it with an error that means nothing
	return func() { _ = server.Close() }, nil
}
