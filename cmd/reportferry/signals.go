package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/jobs"
)

// running is the program, once there is one.
var running atomic.Pointer[wire.Program]

// hangups are of this process. The command serve takes them.
var hangups = &hangup{to: make(chan struct{}, 1)}

// A hangup is SIGHUP: it stops the process, unless a command has taken it for something else.
type hangup struct {
	taken atomic.Bool
	to    chan struct{}
}

// take lets SIGHUP be told on a channel from now on. Of several that nobody has received yet one is
// told, because the last one stands for all.
func (h *hangup) take() <-chan struct{} {
	h.taken.Store(true)
	return h.to
}

// pass hands one over, and answers false when no command has taken them.
func (h *hangup) pass() bool {
	if !h.taken.Load() {
		return false
	}
	select {
	case h.to <- struct{}{}:
	default:
	}
	return true
}

// untilSignal is a context that ends with the first signal that stops the process. A second one
// ends the process at once, and so do 9 seconds, because platforms kill after 10.
func untilSignal() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for s := range signals {
			if s != syscall.SIGHUP || !hangups.pass() {
				break
			}
		}
		stop()
		signal.Reset(os.Interrupt, syscall.SIGTERM)
		if !hangups.taken.Load() {
			signal.Reset(syscall.SIGHUP)
		}
		time.Sleep(9 * time.Second)
		if p := running.Load(); p != nil {
			p.Note(os.Stderr, "reportferry: still busy 9 s after the signal; ending anyway, the next run goes on "+
				"from the ledger")
		}
		os.Exit(jobs.ExitInterrupted)
	}()
	return ctx
}
