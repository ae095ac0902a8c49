// Package console has the command that shows the ledger as pages. Without it, people who don't type commands would have to ask
// those who do whether yesterday's numbers are there.
//
//	config ─ JobsOf ─▶ internal/console ─┬─▶ an address of this machine
//	                                     └─▶ files in a folder or a bucket (--export)
package console

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/loopback"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/console"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

// New makes the command console.
func New(p *wire.Program) *cobra.Command {
	var addr, export string
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Show the ledger as pages: what is there, what is missing, and why",
		Long: `Show the ledger as pages in a browser: what is there, what is missing, and why.
Pages change nothing, and the service is asked for nothing.

With --export they are written as files into a folder or a bucket, for those
without a server; index.html is the first page.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error {
				list, err := JobsOf(s)
				if err != nil {
					return err
				}
				c := console.New(console.Options{Ledger: s.Ledger, Jobs: list, Again: p.Again()})
				if export == "" {
					return serve(ctx, cmd, addr, c)
				}
				b, err := blobsink.OpenBucket(ctx, export)
				if err != nil {
					return fmt.Errorf("--export: %w", exit.Refused(err))
				}
				return errors.Join(c.Export(ctx, b), b.Close())
			})
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8082", "loopback `address` to listen on")
	cmd.Flags().StringVar(&export, "export", "", "write the pages to this folder's or bucket's `URL`, and end")
	return cmd
}

// serve answers until ctx ends.
func serve(ctx context.Context, cmd *cobra.Command, addr string, c *console.Console) error {
	if err := loopback.Check("--addr", addr); err != nil {
		return exit.Coded(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return exit.Coded(fmt.Errorf("--addr: %w", err))
	}
	fmt.Fprintf(cmd.OutOrStdout(), "The console is at http://%s/. Interrupt this command to end it.\n", listener.Addr())
	server := &http.Server{
		Handler: loopback.KnownHosts(addr, c.Handler()), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 20 * time.Second, IdleTimeout: time.Minute,
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
