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

// running is the program; nil until it has been made.
var running atomic.Pointer[wire.Program]

// hangups handles this process's SIGHUP. Only the command serve calls take.
var hangups = &hangup{to: make(chan struct{}, 1)}

// A hangup decides what SIGHUP does: it stops the process, unless a command has called take.
type hangup struct {
	taken atomic.Bool
	to    chan struct{}
}

// take returns a channel on which each SIGHUP is reported from now on, instead of stopping the
// process. Several that arrive before one is received are reported once.
func (h *hangup) take() <-chan struct{} {
	h.taken.Store(true)
	return h.to
}

// pass reports one SIGHUP on the channel. It returns false when no command has called take.
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

// untilSignal returns a context that is cancelled by the first signal that stops the process. The
// process ends at once at a second signal, and after 9 seconds in any case, because platforms kill
// it after 10.
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
