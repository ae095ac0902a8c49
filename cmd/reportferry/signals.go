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

// runningProgram is the program of this process; nil until it has been made.
var runningProgram atomic.Pointer[wire.Program]

// hangups handles this process's SIGHUP. Only the command serve calls take.
var hangups = &hangup{reports: make(chan struct{}, 1)}

// A hangup decides what SIGHUP does: it stops the process, unless a command has called take.
type hangup struct {
	taken   atomic.Bool   // a command has called take
	reports chan struct{} // has room for one SIGHUP
}

// take returns a channel on which each SIGHUP is reported from now on, instead of stopping the
// process. Several that arrive before one is received are reported once.
func (h *hangup) take() <-chan struct{} {
	h.taken.Store(true)
	return h.reports
}

// pass reports one SIGHUP on the channel. It returns false when no command has called take.
func (h *hangup) pass() bool {
	if !h.taken.Load() {
		return false
	}
	select {
	case h.reports <- struct{}{}:
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
		if p := runningProgram.Load(); p != nil {
			p.Note(os.Stderr, "reportferry: still busy 9 s after the signal; ending anyway, the next run goes on "+
				"from the ledger")
		}
		os.Exit(jobs.ExitInterrupted)
	}()
	return ctx
}
