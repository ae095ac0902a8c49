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

	"github.com/reportferry/reportferry/cmd/reportferry/see/access"
	"github.com/reportferry/reportferry/cmd/reportferry/text/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/cmd/reportferry/wire/loopback"
	"github.com/reportferry/reportferry/jobs/ledger"
)

const (
	// tokenLength is the least. A token can be guessed as often as one likes, so it has to be
	// longer than a password that people remember: 16 letters and digits at random are 95 bits.
	tokenLength = 16
	// connections is how many there may be at once: six of each browser, for 150 readers. Each
	// takes a descriptor, and a run in the same process needs some too.
	connections = 1000
	// closing is how long answers that are under way may take when the command ends.
	closing = time.Second
)

// A Listening is where the pages are shown, and to whom, as the flags --listen, --token and --host
// say it.
type Listening struct {
	address, token string
	names          []string

	gate *access.Gate // nil: there is no token
	most int          // connections at once
}

// NewListening adds the flags to a command.
func NewListening(cmd *cobra.Command, address, what string) *Listening {
	l := &Listening{most: connections}
	cmd.Flags().StringVar(&l.address, "listen", address, what)
	cmd.Flags().StringVar(&l.token, "token", "",
		"`reference` to the token that readers log in with, such as '${CONSOLE_TOKEN}'; needed where other machines "+
			"reach the address")
	cmd.Flags().StringSliceVar(&l.names, "host", nil,
		"`name` by which readers know this server, beside localhost and its addresses")
	return l
}

// Address is where is listened; empty: nowhere.
func (l *Listening) Address() string { return l.address }

// Show answers with the pages of a session's config until stop is called. It returns the address
// that people open.
func (l *Listening) Show(ctx context.Context, s *wire.Session) (address string, stop func(), err error) {
	c, err := Of(s)
	if err != nil {
		return "", nil, err
	}
	return l.ShowBeside(ctx, s.Program, s.Log, c.Handler(), nil)
}

// Renew reads the token again where it is kept. Whoever logged in with another one has to do so
// again.
func (l *Listening) Renew(ctx context.Context, p *wire.Program) error {
	if l.gate == nil {
		return nil
	}
	token, err := l.secret(ctx, p)
	if err == nil {
		l.gate.Change(token)
	}
	return err
}

// Closed tells whether there are no pages, because nobody could log in.
func (l *Listening) Closed() bool { return l.token == "" && !loopback.Is(l.address) }

// ShowBeside answers with pages, and at /healthz and /readyz with probes, which need no token. They
// are asked for all that is known only when the reader may see the pages too. Where others reach
// the address and there is no token, there are no pages.
func (l *Listening) ShowBeside(ctx context.Context, p *wire.Program, log *slog.Logger, pages http.Handler,
	probes func(whole bool) http.Handler) (address string, stop func(), err error) {
	if pages, err = l.guarded(ctx, p, log, pages, probes); err != nil {
		return "", nil, exit.Coded(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", l.address)
	if err != nil {
		return "", nil, exit.Coded(fmt.Errorf("--listen: %w", err))
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

// serverOf makes a server that no reader can hold up, however slowly it asks or reads.
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
					_ = c.Close() // the server finds it closed, and forgets it
				}
			case http.StateClosed, http.StateHijacked:
				open.Add(-1)
			}
		},
	}
}

// guarded lets those in who may: anyone of this machine, or with a token whoever knows it.
func (l *Listening) guarded(ctx context.Context, p *wire.Program, log *slog.Logger, pages http.Handler,
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
		l.gate = access.New(token, log)
		pages = l.gate.Wrap(pages)
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
		return loopback.KnownHosts(l.address, pages, l.names...), nil
	}
	all, short := http.NewServeMux(), probes(false)
	all.Handle("/", pages)
	all.Handle("/healthz", probes(true))
	all.Handle("/readyz", probes(true))
	known := loopback.KnownHosts(l.address, all, l.names...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked := r.URL.Path; asked == "/healthz" || asked == "/readyz" {
			// By whatever name: the answer has nothing to hide.
			if stranger := l.Closed() || l.gate != nil && !l.gate.Knows(r); stranger {
				short.ServeHTTP(w, r)
				return
			}
		}
		known.ServeHTTP(w, r)
	}), nil
}

// secret reads the token that --token refers to.
func (l *Listening) secret(ctx context.Context, p *wire.Program) (string, error) {
	token, err := p.Secret(ctx, l.token)
	switch {
	case err != nil:
		return "", fmt.Errorf("--token: %w", exit.Refused(err))
	case len(token) < tokenLength:
		return "", fmt.Errorf("--token: %w: the token has %d characters, want %d at least, such as `openssl rand "+
			"-hex 16` prints", ledger.ErrRefused, len(token), tokenLength)
	}
	return token, nil
}
