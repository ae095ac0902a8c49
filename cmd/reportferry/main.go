// Command reportferry ferries reports out of a mobile-measurement service into partitioned tables.
// Without this package, the engine would have no way in: it alone touches arguments, the
// environment and signals.
//
//	main ── root ──┬── run, backfill, plan    here: what begins runs
//	               │     listeners.go  all that are notified of a run, and what their errors do
//	               │     wire/want     the flags of a table
//	               │     see           what a run has left, and what comes next
//	               ├── run/        serve (runs by schedules), replay, diff and others
//	               ├── see/        status, check, views and others
//	               ├── ask/        report, events, fields
//	               ├── push/       spend, sharing
//	               ├── apps/       apps
//	               ├── setup/      init
//	               └── emulate/    emulator
//	                      │
//	                    wire/    opens config, ledger, service and sinks, makes jobs
//
// Every command gets a wire.Program, and reaches the process only through it. Package text says how
// the process ends and how values are written.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/internal/parquet"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
)

func main() {
	crashBySignal()
	limitHeap(heapLimit)
	parquet.Version = version()
	os.Exit(execute(untilSignal(), os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs one command line and returns its exit code. Everything that is printed is escaped
// here, whoever wrote it.
func execute(ctx context.Context, args []string, rawOut, rawErr io.Writer) int {
	p := newProgram()
	runningProgram.Store(p)
	stdout, stderr := terminal.NewWriter(rawOut), terminal.NewWriter(rawErr)
	defer func() { _ = errors.Join(stdout.Flush(), stderr.Flush()) }() // at most half a character is left to flush
	root := newRoot(p)
	defer wire.Standard(p.Logger(stderr))() // until the flags are known
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = text.CheckHelpTopic(cmd)
	}
	if err == nil {
		return jobs.ExitDone
	}
	var failed *text.ExitError
	if !errors.As(err, &failed) {
		// Cobra found an unknown command, flag or argument.
		failed = &text.ExitError{Code: jobs.ExitUsage, Err: text.PlainFlagError(err)}
		if wantsJSON(args) {
			p.LogFormat = "json" // flags after the faulty one weren't read
		}
	}
	switch {
	case failed.Err == nil: // the command has printed everything
	case p.JSON():
		out := stdout
		if p.Result == "-" {
			out = stderr
		}
		p.Logger(out).Error(failed.Error(), "exit", failed.Code, "reason", text.FailureReason(failed))
	default:
		fmt.Fprintf(stderr, "reportferry: %v\n", failed.Err)
	}
	return failed.Code
}

// crashBySignal makes a crash end the process by SIGABRT, which shells and containers show as 134.
// Without it, Go exits with 2 after a panic, a fatal error or the watchdog's SIGABRT
// (https://pkg.go.dev/runtime#hdr-Environment_Variables, GOTRACEBACK), and platforms take 2 for a
// wrong config and never try again. The first process of a PID namespace still exits with 2,
// because the kernel drops a signal that it sends to itself. No core is written, because it would
// contain the token.
func crashBySignal() {
	debug.SetTraceback("crash")
	var core syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &core) == nil {
		core.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &core) // a process may always lower its limit
	}
}

// wantsJSON reports whether a command line asks for a JSON log, even if other arguments are wrong.
func wantsJSON(args []string) bool {
	i := slices.Index(args, "--log-format")
	return slices.Contains(args, "--log-format=json") || i >= 0 && i+1 < len(args) && args[i+1] == "json"
}

// heapLimit keeps the whole program under 150 MiB of resident memory with four windows in flight:
// near the limit the garbage collector works harder, instead of letting the heap double. What isn't
// heap takes about 35 MiB.
const heapLimit = 96 << 20 // bytes

// limitHeap limits the heap to so many bytes unless GOMEMLIMIT sets a limit.
func limitHeap(most int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(most)
	}
}

// freeHeap lifts the limit of the heap for the emulator, whose memory grows with what it is sent,
// and for the console, whose memory grows with the tables: near a limit that is too low, the
// garbage collector takes half of the processor.
func freeHeap() { limitHeap(math.MaxInt64) }
