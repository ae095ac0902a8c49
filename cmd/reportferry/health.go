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

// health is the answer of /healthz.
type health struct {
	Status string      `json:"status"` // ok, or failing when a job's last look ended otherwise than well
	Jobs   []jobHealth `json:"jobs"`
}

type jobHealth struct {
	Job     string    `json:"job"`
	Running bool      `json:"running"`
	Last    *look     `json:"last,omitempty"`
	Next    time.Time `json:"next"`
}

// health says how the jobs are. A failing job is no reason to restart the daemon, so the status is only told.
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

// serveHealth answers /healthz until stop is called. The address must be the machine's own: the answer has no login.
func (d *daemon) serveHealth(ctx context.Context, addr string, stderr io.Writer) (stop func(), err error) {
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
		_ = json.NewEncoder(w).Encode(d.health(time.Now())) // whoever is gone needs no answer
	})
	server := &http.Server{Handler: loopback.KnownHosts(addr, mux), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // it ends by Close
	return func() { _ = server.Close() }, nil
}
