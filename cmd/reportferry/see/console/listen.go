package console

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/jobs/ledger"
)

const (
	// tokenLength is the least number of characters of a token. Nothing limits the guesses at a
	// token, so it has to be longer than a password that people remember: 16 letters and digits at
	// random are 95 bits.
	tokenLength = 16
	// connections bounds the open connections: six of each browser, for 150 readers. Each takes a
	// file descriptor, and a run in the same process needs some too.
	connections = 1000
	// closing is how long answers in flight may take when the command ends.
	closing = time.Second
)

// A PageServer serves the pages at the address, and to whom, that the flags --listen, --token and
// --host say.
type PageServer struct {
	address string   // --listen; empty when nothing is served
	token   string   // --token, a reference to the token; empty when there is none
	names   []string // --host

	gate *gate // nil when there is no token
	most int   // how many connections may be open at once
}

// NewPageServer adds the flags to a command. address is the default of --listen, and what is its
// help text.
func NewPageServer(cmd *cobra.Command, address, what string) *PageServer {
	l := &PageServer{most: connections}
	cmd.Flags().StringVar(&l.address, "listen", address, what)
	cmd.Flags().StringVar(&l.token, "token", "",
		"`reference` to the token that readers log in with, such as '${CONSOLE_TOKEN}'; needed where other machines "+
			"reach the address")
	cmd.Flags().StringSliceVar(&l.names, "host", nil,
		"`name` by which readers know this server, beside localhost and its addresses")
	return l
}

// Address returns the address to listen on. It is empty when nothing is served.
func (l *PageServer) Address() string { return l.address }

// Show serves the pages of a session's config until stop is called. It returns the address that
// people open.
func (l *PageServer) Show(ctx context.Context, s *wire.Session) (address string, stop func(), err error) {
	c, err := Of(s)
	if err != nil {
		return "", nil, err
	}
	return l.ServeWithProbes(ctx, s.Program, s.Log, c.Handler(), nil)
}

// Renew reads the token again from where it is kept. Whoever logged in with another token has to
// log in again.
func (l *PageServer) Renew(ctx context.Context, p *wire.Program) error {
	if l.gate == nil {
		return nil
	}
	token, err := l.secret(ctx, p)
	if err == nil {
		l.gate.change(token)
	}
	return err
}

// Closed tells whether no pages are served, because other machines reach the address and there is
// no token to log in with.
func (l *PageServer) Closed() bool { return l.token == "" && !wire.IsLoopback(l.address) }

// ServeWithProbes serves pages, and at /healthz and /readyz probes, which need no token. A probe's
// answer is whole for a reader who may see the pages, and short for anybody else. Where other
// machines reach the address and there is no token, no pages are served.
func (l *PageServer) ServeWithProbes(ctx context.Context, p *wire.Program, log *slog.Logger, pages http.Handler,
	probes func(whole bool) http.Handler) (address string, stop func(), err error) {
	if pages, err = l.guarded(ctx, p, log, pages, probes); err != nil {
		return "", nil, text.WithExitCode(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", l.address)
	if err != nil {
		return "", nil, text.WithExitCode(fmt.Errorf("--listen: %w", err))
	}
	server := serverOf(pages, log, l.most)
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("nobody is answered any more; the next start tries again", "error", err)
		}
	}()
	return "http://" + listener.Addr().String() + "/", func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
		if server.Shutdown(bounded) != nil {
			_ = server.Close()
		}
		<-over
	}, nil
}

// serverOf returns a server that no client can hold up, however slowly it sends or reads. most
// bounds the open connections.
func serverOf(pages http.Handler, log *slog.Logger, most int) *http.Server {
	var open atomic.Int64
	return &http.Server{
		Handler: pages, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), MaxHeaderBytes: 16 << 10,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 20 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: time.Minute,
		ConnState: func(c net.Conn, s http.ConnState) {
			switch s {
			case http.StateNew:
				if open.Add(1) > int64(most) {
					_ = c.Close() // the server notices that, and forgets it
				}
			case http.StateClosed, http.StateHijacked:
				open.Add(-1)
			}
		},
	}
}

// guarded wraps the pages and the probes in access checks. With a token, whoever knows it may see
// the pages; without one, everybody on this machine may.
func (l *PageServer) guarded(ctx context.Context, p *wire.Program, log *slog.Logger, pages http.Handler,
	probes func(bool) http.Handler) (http.Handler, error) {
	if _, _, err := net.SplitHostPort(l.address); err != nil {
		return nil, fmt.Errorf("--listen %s: %w: want an address such as 127.0.0.1:8082", l.address, ledger.ErrRefused)
	}
	switch {
	case l.token != "":
		token, err := l.secret(ctx, p)
		if err != nil {
			return nil, err
		}
		l.gate = newGate(token, log)
		pages = l.gate.wrap(pages)
	case l.Closed() && probes == nil:
		return nil, fmt.Errorf("--listen %s: %w: other machines reach this address, so readers need a token to log "+
			"in with:\n"+
			"  export CONSOLE_TOKEN=$(openssl rand -hex 16)\n  and give it as --token '${CONSOLE_TOKEN}'", l.address,
			ledger.ErrRefused)
	case l.Closed():
		pages = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Other machines reach this address, so pages and metrics are shown to those who know a "+
				"token, and --token gives none.", http.StatusForbidden)
		})
	}
	if probes == nil {
		return wire.KnownHosts(l.address, pages, l.names...), nil
	}
	all, short := http.NewServeMux(), probes(false)
	all.Handle("/", pages)
	all.Handle("/healthz", probes(true))
	all.Handle("/readyz", probes(true))
	known := wire.KnownHosts(l.address, all, l.names...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked := r.URL.Path; asked == "/healthz" || asked == "/readyz" {
			// The short answer needs no check of the host's name, because it has nothing to hide.
			if stranger := l.Closed() || l.gate != nil && !l.gate.bringsToken(r); stranger {
				short.ServeHTTP(w, r)
				return
			}
		}
		known.ServeHTTP(w, r)
	}), nil
}

// secret reads the token that --token refers to.
func (l *PageServer) secret(ctx context.Context, p *wire.Program) (string, error) {
	token, err := p.Secret(ctx, l.token)
	switch {
	case err != nil:
		return "", fmt.Errorf("--token: %w", text.RefusedError(err))
	case len(token) < tokenLength:
		return "", fmt.Errorf("--token: %w: the token has %d characters, want %d at least, such as `openssl rand "+
			"-hex 16` prints", ledger.ErrRefused, len(token), tokenLength)
	}
	return token, nil
}
