// Package emulate serves the emulator of the service from the command line. Without it, nobody
// could try the program, or test against the service's faults, without an account.
package emulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/emulator"
)

// New makes the command emulator. freeHeap lifts the limit on the heap, which suits only the other
// commands.
func New(p *wire.Program, freeHeap func()) *cobra.Command {
	var addr, faults string
	var o emulator.Options
	var apps automation
	cmd := &cobra.Command{
		Use:   "emulator",
		Short: "Serve a made-up account over the service's own interface",
		Long: `Serve a made-up account over the service's own interface: to try reportferry
without an account, and to test against. The same seed gives the same numbers.
It can be told to fail in the ways the real one does, and to leave things out:
PUT /_emulator/faults. POST /_emulator/restatements changes days that are past,
and GET says what moved.
What POST /third_party_sharing was told of a device, GET /_emulator/sharing
tells again.

It answers events and csv_report as the service's interface document has them,
and also filters_data, report (JSON) and parquet_report, which the real service
has besides: clients of others can be pointed at it. POST /cost takes ad spend
for what emulator engagements lists; csv_report then has it in its costs, and
GET /_emulator/spend says what arrived. Under /app-automation apps are made from
a template; their jobs advance with the clock, or by POST /_emulator/tickets.

It answers to localhost, loopback addresses and the host of --addr; a request
for another host is answered with 421, because a page in a browser may have
sent it. As a container of its own: --addr NAME:8080, with the name that others
call it by.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Logger = p.Logger(cmd.ErrOrStderr())
			apps.apply(&o)
			if err := readFaults(faults, &o.Faults); err != nil {
				return text.UsageError(err)
			}
			freeHeap() // the emulator keeps all spend in memory
			server, err := emulator.New(o)
			if err != nil {
				return text.UsageError(err)
			}
			return text.WithExitCode(errors.Join(serve(cmd, p, addr, server), server.Close()))
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8080", "`address` to listen on; see above")
	accountFlags(cmd, &o)
	cmd.Flags().IntVar(&o.Days, "days", 120, "days that have data, ending today")
	cmd.Flags().StringVar(&o.Token, "token", "", "the only API `token` that is let in; empty: any")
	cmd.Flags().Float64Var(&o.Rate, "rate", 50, "requests a second before a 429; -1: any")
	cmd.Flags().IntVar(&o.Burst, "burst", 100, "requests at once before a 429")
	cmd.Flags().IntVar(&o.MaxPairs, "max-pairs", 0, "day-app pairs of a report before a 504, 0: no limit")
	cmd.Flags().DurationVar(&o.Latency, "latency", 0, "wait before each answer")
	cmd.Flags().StringSliceVar(&o.Readings, "reading", nil,
		"`topic=reading` of what the interface document leaves open;\nemulator readings lists them")
	cmd.Flags().StringVar(&o.DB, "db", "", "`file` that keeps the data across restarts")
	cmd.Flags().StringVar(&faults, "faults", "", "JSON `file` of scripted faults")
	cmd.Flags().IntVar(&o.Bulk, "bulk", 0, "rows that every report has then, for memory tests")
	cmd.Flags().StringToStringVar(&o.SharingTokens, "sharing-token", nil,
		"`token=app` that third-party sharing of the app asks for; token= is for all apps")
	cmd.Flags().StringSliceVar(&o.SharingPartners, "sharing-partner", nil,
		"`partner` that sharing knows besides the thirteen of the channel setup")
	cmd.Flags().StringToStringVar(&o.Partners, "partner", nil,
		"`key=network` that may post ad spend; empty: any key, any network")
	cmd.Flags().StringVar(&o.SpendHeader, "spend-header", "",
		"`header` of the partner's key; empty: Authorization, as Bearer")
	cmd.Flags().BoolVar(&o.OpenSpend, "open-spend", false, "take ad spend without a key")
	apps.flags(cmd, &o)
	cmd.AddCommand(newEngagements(), newReadings())
	return cmd
}

// accountFlags adds the flags that decide what the made-up account has.
func accountFlags(cmd *cobra.Command, o *emulator.Options) {
	cmd.Flags().Int64Var(&o.Seed, "seed", 7, "what the numbers are made from")
	cmd.Flags().IntVar(&o.Apps, "apps", 12, "apps of the account")
	cmd.Flags().BoolVar(&o.Hostile, "hostile-names", false, "quotes, line breaks, formulas in names")
}

// readFaults reads a script of faults, the same JSON that PUT /_emulator/faults takes.
func readFaults(path string, faults *[]emulator.Fault) error {
	if path == "" {
		return nil
	}
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, faults)
	}
	if err != nil {
		return fmt.Errorf("read faults from %s: %w", path, err)
	}
	return nil
}

// serve answers requests until the command is stopped.
func serve(cmd *cobra.Command, p *wire.Program, addr string, handler http.Handler) error {
	ctx := cmd.Context()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	p.Note(cmd.ErrOrStderr(), fmt.Sprintf("emulator: serving on http://%s", listener.Addr()))
	s := &http.Server{Handler: wire.KnownHosts(addr, handler), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if s.Shutdown(closing) != nil {
			_ = s.Close() // cuts off answers that are still under way
		}
	})
	defer stop()
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// An automation holds the flags about app automation that are translated into options.
type automation struct {
	roles map[string]string // --role: the role of each token
	fail  []string          // --fail-job: sections, or section@app
}

// flags adds the flags about app automation to the command.
func (a *automation) flags(cmd *cobra.Command, o *emulator.Options) {
	cmd.Flags().StringToStringVar(&a.roles, "role", nil,
		"`token=role` of a user: Admin, Editor or Reader; others are let in no more")
	cmd.Flags().BoolVar(&o.NoAutomation, "no-automation", false, "app automation isn't enabled: 403")
	cmd.Flags().BoolVar(&o.NoTemplate, "no-template", false, "the account has no template app")
	cmd.Flags().DurationVar(&o.TicketStep, "ticket-step", 0,
		"what each step of a job takes; negative: POST /_emulator/tickets")
	cmd.Flags().StringSliceVar(&a.fail, "fail-job", nil,
		"`section` that fails in jobs, or section@app of one token or store ID")
}

// apply translates the flags into options.
func (a *automation) apply(o *emulator.Options) {
	for token, role := range a.roles {
		if o.Tokens == nil {
			o.Tokens = map[string]emulator.Role{}
		}
		o.Tokens[token] = emulator.Role(role)
	}
	for _, f := range a.fail {
		section, app, _ := strings.Cut(f, "@")
		o.JobFaults = append(o.JobFaults, emulator.JobFault{Section: section, App: app})
	}
}
