// Command reportferry ferries reports out of a mobile-measurement service into partitioned tables. Without this
// package, the engine would have no way in: it alone touches arguments, the environment and signals.
//
//	main ── root ──┬── run, backfill, plan, serve      here: what begins runs
//	               │     want/  the flags of a table    after/  what a run has left, and what comes next
//	               ├── setup/    init
//	               ├── inspect/  status, gaps, check, views
//	               ├── replay/   replay, diff
//	               ├── query/    report, events
//	               ├── push/     spend, sharing
//	               ├── apps/     apps
//	               └── emulate/  emulator
//	                      │
//	                    wire/    opens config, ledger, service and sinks, makes jobs
//
// Every command is given a wire.Program and has no other way to the process. The packages exit and human say how it ends and
// how values are written.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"math"
	"runtime/debug"

	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/usage"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
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

// execute runs one command line and gives its exit code. Everything that is printed is escaped here, whoever wrote it.
func execute(ctx context.Context, args []string, rawOut, rawErr io.Writer) int {
	p := newProgram()
	stdout, stderr := terminal.NewWriter(rawOut), terminal.NewWriter(rawErr)
	defer func() { _ = errors.Join(stdout.Flush(), stderr.Flush()) }() // what is flushed is at most half a character
	root := newRoot(p)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return jobs.ExitDone
	}
	var failed *exit.Error
	if !errors.As(err, &failed) {
		failed = &exit.Error{Code: jobs.ExitUsage, Err: usage.Sentence(err)} // cobra found an unknown command, flag or argument
	}
	switch {
	case failed.Err == nil: // the command has printed everything
	case p.JSON():
		why := exit.Reason(failed)
		if failed.Code == jobs.ExitUsage {
			why = exit.Reason(ledger.ErrRefused)
		}
		p.Logger(stdout).Error(failed.Error(), "exit", failed.Code, "reason", why)
	default:
		fmt.Fprintf(stderr, "reportferry: %v\n", failed.Err)
	}
	return failed.Code
}

// heapLimit keeps the whole program under 150 MiB of resident memory with four windows in flight: the garbage collector
// works harder before the heap passes it, instead of letting it double. What isn't heap comes to about 35 MiB.
const heapLimit = 96 << 20

// limitHeap sets the limit unless GOMEMLIMIT says otherwise.
func limitHeap() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(heapLimit)
	}
}

// freeHeap lifts the limit for the emulator, whose memory grows with what it is sent, and for the console, whose memory grows with
// the tables: near a limit that is too low, the garbage collector takes half of the processor.
func freeHeap() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(math.MaxInt64)
	}
}
