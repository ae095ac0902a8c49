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

	"github.com/reportferry/reportferry/cmd/reportferry/access"
	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/loopback"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/jobs/ledger"
)

const (
	// tokenLength is the least. A token can be guessed as often as one likes, so it has to be longer than a password that people
	// remember: 16 letters and digits at random are 95 bits.
	tokenLength = 16
	// connections is how many there may be at once: six of each browser, for 150 readers. Each takes a descriptor, of which a run in
	// the same process needs some too.
	connections = 1000
	// closing is how long answers that are under way may take when the command ends.
	closing = time.Second
)

// A Listening is where the pages are shown, and to whom, as flags say it.
type Listening struct {
	address, token string
	names          []string

	flag, secret string // the names of the flags of the address and of the token
	most         int    // connections at once
}

// NewListening adds the flags to a command: the address has a name of its own, and the two others begin with prefix.
func NewListening(cmd *cobra.Command, flag, prefix, address, what string) *Listening {
	l := &Listening{flag: "--" + flag, secret: "--" + prefix + "token", most: connections}
	cmd.Flags().StringVar(&l.address, flag, address, what)
	cmd.Flags().StringVar(&l.token, prefix+"token", "", "`reference` to the token that readers log in with, such as '${CONSOLE_TOKEN}'; needed where other machines reach the address")
	cmd.Flags().StringSliceVar(&l.names, prefix+"host", nil, "`name` by which browsers know this server, beside localhost and its addresses")
	return l
}

// On tells whether there is an address.
func (l *Listening) On() bool { return l.address != "" }

// Show answers with the pages of a session's config until stop is called. It returns the address that people open.
func (l *Listening) Show(ctx context.Context, s *wire.Session) (address string, stop func(), err error) {
	c, err := Of(s)
	if err != nil {
		return "", nil, err
	}
	return l.start(ctx, s.Program, s.Log, c.Handler())
}

func (l *Listening) start(ctx context.Context, p *wire.Program, log *slog.Logger, pages http.Handler) (address string, stop func(), err error) {
	if pages, err = l.guarded(ctx, p, log, pages); err != nil {
		return "", nil, exit.Coded(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", l.address)
	if err != nil {
		return "", nil, exit.Coded(fmt.Errorf("%s: %w", l.flag, err))
	}
	server := serverOf(pages, log, l.most)
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the console can't listen any more; the next start tries again", "status", err)
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
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 20 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute,
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
func (l *Listening) guarded(ctx context.Context, p *wire.Program, log *slog.Logger, pages http.Handler) (http.Handler, error) {
	if _, _, err := net.SplitHostPort(l.address); err != nil {
		return nil, fmt.Errorf("%s %s: %w: want an address such as 127.0.0.1:8082", l.flag, l.address, ledger.ErrRefused)
	}
	switch {
	case l.token != "":
		token, err := p.Secret(ctx, l.token)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", l.secret, exit.Refused(err))
		case len(token) < tokenLength:
			return nil, fmt.Errorf("%s: %w: the token has %d characters, want %d at least, such as `openssl rand -hex 16` prints", l.secret, ledger.ErrRefused, len(token), tokenLength)
		}
		pages = access.New(token, log).Wrap(pages)
	case !loopback.Is(l.address):
		return nil, fmt.Errorf("%s %s: %w: other machines reach this address, so readers need a token to log in with:\n"+
			"  export CONSOLE_TOKEN=$(openssl rand -hex 16)\n  and give it as %s '${CONSOLE_TOKEN}'", l.flag, l.address, ledger.ErrRefused, l.secret)
	}
	return loopback.KnownHosts(l.address, pages, l.names...), nil
}
