// Command reportferry ferries reports out of a mobile-measurement service into partitioned tables. Without this
// package, the engine would have no way in: it alone touches arguments, the environment and signals.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
)

func main() {
	limitHeap()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the process at once
		time.Sleep(9 * time.Second)
		fmt.Fprintln(os.Stderr, "reportferry: still busy 9 s after the signal; ending anyway, the next run goes on from the ledger")
		os.Exit(jobs.ExitInterrupted)
	}()
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs one command line and gives its exit code. All that it prints is escaped here, whoever said it.
func execute(ctx context.Context, args []string, rawOut, rawErr io.Writer) int {
	f := &flags{}
	stdout, stderr := terminal.NewWriter(rawOut), terminal.NewWriter(rawErr)
	defer func() { _ = errors.Join(stdout.Flush(), stderr.Flush()) }() // half a character: nothing depends on it
	root := newRoot(f)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return jobs.ExitDone
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{jobs.ExitUsage, err} // cobra's own: unknown command, flag or argument
	}
	switch {
	case exit.err == nil: // all was said already
	case f.logFormat == "json":
		why := reason(exit)
		if exit.code == jobs.ExitUsage {
			why = reason(jobs.ErrRefused)
		}
		f.logger(stdout).Error(exit.Error(), "exit", exit.code, "reason", why)
	default:
		fmt.Fprintf(stderr, "reportferry: %v\n", exit.err)
	}
	return exit.code
}

// An exitError ends the process with a code; err is nil when all was said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return fmt.Sprint(e.err) }
func (e *exitError) Unwrap() error { return e.err }

// coded gives err the exit code that its cause asks for.
func coded(err error) error {
	var exit *exitError
	switch {
	case err == nil || errors.As(err, &exit):
		return err
	case errors.Is(err, jobs.ErrRefused):
		return &exitError{jobs.ExitUsage, err}
	case jobs.Denied(err), errors.Is(err, adjust.ErrAuth):
		return &exitError{jobs.ExitDenied, err}
	}
	return &exitError{jobs.ExitFailed, err}
}

const exitCodes = `Exit codes:
  0    done
  1    failed
  2    usage or config
  3    some units failed, the rest is published; of status, check and gaps: not
       all is as it should be
  4    a named run got no unit, because others hold them all
  5    authentication or permission refused
  130  interrupted; the next run goes on
`

func newRoot(f *flags) *cobra.Command {
	root := &cobra.Command{
		Use:   "reportferry",
		Short: "Ferry measurement reports into partitioned tables",
		Long: `reportferry fetches reports from a mobile-measurement service and keeps them as
typed Parquet partitions in any bucket: complete, restated when the service
restates them, never doubled, never silently missing.

The schedule only says when to look; the ledger says what is missing; a
partition is replaced whole or not at all; doing it twice equals doing it once.

REPORTFERRY_CONFIG, REPORTFERRY_LOG_FORMAT, REPORTFERRY_LOG_LEVEL and
REPORTFERRY_DEADLINE are the defaults of the flags of these names.

` + exitCodes,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return f.check()
		},
	}
	f.add(root)
	// Flags wrapped for a terminal of 80 columns, which cobra's own template doesn't do.
	root.SetUsageTemplate(strings.NewReplacer(
		".FlagUsages", ".FlagUsagesWrapped 80", `Use "{{.CommandPath}} [command] --help" for more information about a command.`,
		`"{{.CommandPath}} [command] --help" says more about a command.`,
	).Replace(root.UsageTemplate()))
	root.AddCommand(newRun(f), newBackfill(f), newPlan(f), newStatus(f), newGaps(f), newCheck(f), newViews(f),
		newServe(f), newEvents(f), newReport(f), newSpend(f), newSharing(f), newApps(f), newSchema(), newEmulator(f), newVersion())
	return root
}
