package run

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/see/console"
	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
)

// A runFunc does one run of jobs with an engine that stays open, shows it by the command's writers,
// and returns its exit code. It calls over for each job that ends, with the job's exit code, before
// the run itself ends. An error means that no unit was begun.
type runFunc func(ctx context.Context, cmd *cobra.Command, e *wire.Engine, jobs []string,
	over func(job string, code int)) (code int, err error)

// Serve makes the command serve.
func Serve(p *wire.Program, do runFunc) *cobra.Command {
	var ask bool
	var listening *console.PageServer
	cmd := &cobra.Command{
		Use: "serve",
		Example: `  reportferry serve
  reportferry serve --listen 0.0.0.0:8081 --token '${CONSOLE_TOKEN}'
  reportferry serve --listen 0.0.0.0:8081 --probe`,
		Short: "Stay, and run each job when its schedule fires",
		Long: `Stay, and run each job when its schedule fires, until SIGTERM: then take no more
windows, abort the open ones, record, and end with 0. At the start every job is
looked at once, so that a schedule which fired while nobody served is not lost.
Jobs that are due together are one run, as of the command run. One that still
runs when its schedule fires again is left alone: it does all that is due then.

SIGHUP reads the config again. One that is wrong is refused, and the one before
stays. Else every job is looked at as at the start; a run under way goes on as
it began, and its job comes when that is over. References to files and secret
managers are read again. Variables of the environment are those of the start.

At --listen:
  /healthz   200 while the process lives, with what each job did and does next
  /readyz    200 when it can do its work, else 503, with what fails since when;
             of the ledger a name is listed, within 3 s
  /metrics   how fresh tables are, what they lack and what differs
  /          the pages of the command console

An address that other machines reach needs --token for pages and metrics, as a
password or as Authorization: Bearer. The probes need none, and name no job to
those without it. There is no TLS: put something that speaks it in front. A
request for a name that is neither this server's nor that of --host gets 421.

Under systemd it says when it is ready, reloads and stops, and feeds the
watchdog while the scheduler works. deploy/README.md has a unit for it, a file
for Docker Compose, and probes for Kubernetes.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if ask {
				return text.WithExitCode(askReadiness(cmd.Context(), listening.Address(), cmd.OutOrStdout()))
			}
			return serveJobs(cmd, p, do, listening)
		},
	}
	listening = console.NewPageServer(cmd, "127.0.0.1:8081", "`address` of probes, metrics and pages; empty: none")
	cmd.Flags().BoolVar(&ask, "probe", false,
		"ask the one that serves at --listen whether it is ready, and end with 0 or 1")
	return cmd
}

// serveJobs opens everything, runs until ctx is done and the runs have ended, and closes it all.
func serveJobs(cmd *cobra.Command, p *wire.Program, do runFunc, listening *console.PageServer) error {
	ctx := cmd.Context()
	p.ManyRuns = true
	var hangups <-chan struct{}
	if p.Hangups != nil {
		hangups = p.Hangups() // before anything is opened, because a SIGHUP that nobody receives ends the process
	}
	d := newDaemon(p, serveLogger(cmd, p), func(ctx context.Context, e *wire.Engine, jobs []string,
		over func(string, int)) (int, error) {
		return do(ctx, cmd, e, jobs, over)
	})
	d.renewSecrets = func(ctx context.Context) error { return listening.Renew(ctx, p) }
	d.announce = func(level slog.Level, text string, args ...any) {
		if p.JSON() {
			d.log.Log(ctx, level, text, args...)
			return
		}
		for i := 0; i+1 < len(args); i += 2 {
			text += fmt.Sprintf("; %v: %v", args[i], args[i+1])
		}
		fmt.Fprintln(cmd.ErrOrStderr(), time.Now().Format(time.TimeOnly)+" "+text)
	}
	var err error
	if d.watchdogPeriod, err = watchdogInterval(); err != nil {
		return text.UsageError(err)
	}
	// The first generation, what is collected, and the server.
	g, err := d.open(ctx)
	if err != nil {
		return text.WithExitCode(err)
	}
	d.install(g)
	defer d.close()
	sent, metrics, err := observeServe(ctx, p, d.log)
	if err != nil {
		return err
	}
	defer sent.Close(ctx)
	sent.Watch(d.statuses)
	pages := http.NewServeMux()
	pages.Handle("/metrics", metrics)
	pages.HandleFunc("/", d.servePage)
	if listening.Address() != "" {
		address, stop, err := listening.ServeWithProbes(ctx, p, d.log, pages, d.probes)
		if err != nil {
			return err
		}
		defer stop() // until then, /readyz says that the process is stopping
		args := []any{}
		if listening.Closed() {
			args = append(args, "note", "other machines reach this address, so pages and metrics need --token")
		}
		d.announce(slog.LevelInfo, "serving at "+address, args...)
	}
	d.run(sent.In(ctx), hangups)
	return nil
}

// serveLogger returns the logger for runs of this command.
func serveLogger(cmd *cobra.Command, p *wire.Program) *slog.Logger {
	if p.JSON() {
		return p.Logger(cmd.OutOrStdout())
	}
	return p.Logger(cmd.ErrOrStderr())
}
