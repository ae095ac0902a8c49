// Package console has the command that shows the ledger as pages. Without it, people who don't type
// commands would have to ask those who do whether yesterday's numbers are there.
//
//	config ─ JobsOf ─▶ internal/console ─┬─▶ an address of this machine
//	                                     └─▶ files in a folder or a bucket (--export)
//
// A gate lets in only requests that bring a token. Without it, everybody who reaches the console's
// address could read what a company spends, and where.
//
//	request ─┬─ Authorization: Bearer or Basic ─┐
//	         └─ cookie of an earlier Basic ─────┴─▶ gate ─┬─▶ the pages
//	                                                      └─▶ 401, the same for every reason
//
// There is no form to log in by, so nothing but GET and HEAD is ever answered: browsers ask for a
// name and a password by themselves.
package console

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/cmd/reportferry/wire/want"
	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/console"
)

// New makes the command console. freeHeap lifts the limit on the heap, which suits only the other
// commands.
func New(p *wire.Program, freeHeap func()) *cobra.Command {
	var export string
	var l *PageServer
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Show the ledger as pages: what is there, what is missing, and why",
		Long: `Show the ledger as pages in a browser: what is there, what is missing, and why.
Pages change nothing, and the service is asked for nothing.

They are for this machine alone, unless --listen names another address and
--token refers to a token of at least 16 characters. Readers log in with it as
the password of any user name, or send it as Authorization: Bearer. It goes over
the network as it is, so put something in front that speaks TLS, and give --host
the name that browsers then ask for; other names are answered with 421.

With --export they are written as files into a folder or a bucket, for those
without a server; index.html is the first page.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			freeHeap() // the console keeps what it knows of all tables in memory
			return p.WithLedger(cmd, func(ctx context.Context, s *wire.Session) error {
				if export == "" {
					address, stop, err := l.Show(ctx, s)
					if err != nil {
						return err
					}
					defer stop()
					fmt.Fprintf(cmd.OutOrStdout(), "The console is at %s. Interrupt this command to end it.\n", address)
					<-ctx.Done()
					return nil
				}
				c, err := Of(s)
				if err != nil {
					return err
				}
				b, err := bucket.Open(ctx, want.SinkURL(".", export))
				if err != nil {
					return fmt.Errorf("--export: %w", text.RefusedError(err))
				}
				did, err := c.Export(ctx, b)
				if err = errors.Join(err, b.Close()); err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%d pages and other files written, %d as they were, %d removed.\n",
						did.Written, did.Unchanged, did.Removed)
				}
				return err
			})
		},
	}
	l = NewPageServer(cmd, "127.0.0.1:8082", "`address` to listen on")
	cmd.Flags().StringVar(&export, "export", "",
		"write the pages into this `folder`, or bucket such as gs://bucket/status, and end")
	return cmd
}

// Of makes the console of a session's config. It reads nothing yet.
func Of(s *wire.Session) (*console.Console, error) {
	list, err := JobsOf(s)
	if err != nil {
		return nil, err
	}
	return console.New(console.Options{Ledger: s.Ledger, Jobs: list, Again: s.Again(), Log: s.Log}), nil
}
