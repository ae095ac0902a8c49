package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

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
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("--health: %w: want an address such as 127.0.0.1:8081", jobs.ErrRefused)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("--health %s: %w: want a loopback address, such as 127.0.0.1:8081", addr, jobs.ErrRefused)
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
	server := &http.Server{Handler: onlyKnownHosts(addr, mux), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // it ends by Close
	return func() { _ = server.Close() }, nil
}

// onlyKnownHosts answers requests whose Host is loopback or the address that is listened on. A page in somebody's browser
// can have a name of its own lead to this machine (DNS rebinding), and would read the answers; the browser still says which
// name it asks for.
func onlyKnownHosts(listen string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if !knownHost(r.Host, listen, local) {
			http.Error(w, fmt.Sprintf("The request is for the host %q, which isn't this server; want localhost, a loopback address, or the address that it listens on.", r.Host), http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// knownHost looks at names and addresses, not at ports, which tunnels change. local is this end of the connection.
func knownHost(host, listen string, local net.Addr) bool {
	host = hostOf(host)
	if ip, err := netip.ParseAddr(host); err == nil {
		own, _ := local.(*net.TCPAddr)
		ip = ip.Unmap()
		return ip.IsLoopback() || ip.String() == hostOf(listen) || own != nil && ip == own.AddrPort().Addr().Unmap()
	}
	return host != "" && (strings.EqualFold(host, "localhost") || strings.EqualFold(host, hostOf(listen)))
}

// hostOf is an address without its port and brackets.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}
