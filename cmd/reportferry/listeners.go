package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/run"
	"github.com/reportferry/reportferry/cmd/reportferry/see/console"
	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/jobs"
)

// A registeredListener is a listener with the rules for its errors and its time.
type registeredListener struct {
	wire.Listener
	failMessage string        // the message to log when the listener fails
	needed      bool          // somebody relies on the listener, so that the run fails when the listener does
	timeLimit   time.Duration // of each call, also after the run was stopped; 0: the listener has its own limits
}

// listeners holds all that are notified about a run, and the log for their errors. A listener that
// a command doesn't have is a wire.NoListener.
type listeners struct {
	log *slog.Logger

	dagster   wire.Listener // the step of Dagster that waits for this process
	lineage   wire.Listener // the catalogue that takes OpenLineage events
	result    wire.Listener // the output of --result
	heartbeat wire.Listener // the heartbeat address of the config
	display   *display
}

// newListeners returns the listeners that every run has. The caller sets the display, and the
// others where the command has them.
func newListeners(ctx context.Context, p *wire.Program, log *slog.Logger) *listeners {
	return &listeners{log: log, dagster: wire.NoListener{}, lineage: run.ListenForLineage(p), result: wire.NoListener{},
		heartbeat: p.Heartbeat(ctx, log)}
}

// list returns the listeners in the order in which they are called. State tables aren't among them:
// they are rows in the sinks of a job, so the runner writes them, under their own lease.
func (l *listeners) list() []registeredListener {
	return []registeredListener{
		{wire.AtEnd(recordEnd), "the run's record could not be written", true, 0},
		{wire.AtEnd(audit), "the audit table could not be written", true, 0},
		{wire.AtEnd(console.Publish), "the console's pages could not be written; the next run tries again", false, 0},
		{wire.AtEnd(run.SendNotices), "people could not be told; the next run tries again", false, 10 * time.Second},
		{l.dagster, "the step of Dagster could not be told", true, 5 * time.Second},
		{l.lineage, "the catalogue of OpenLineage could not be told; the run itself isn't affected", false,
			5 * time.Second},
		{l.result, "the result could not be written", true, 5 * time.Second},
		{wire.AtEnd(l.display.printEnd), "what the run has left could not be shown", false, 10 * time.Second},
		{l.heartbeat, "the heartbeat could not be sent; the run itself isn't affected", false, 0},
	}
}

// call notifies every listener of one moment of a run. An error never keeps the others from being
// notified:
//   - The error of a listener that isn't needed is logged as a warning.
//   - The error of a needed listener is logged as an error, and turns the exit code 0 into 1, or
//     into 130 when the process was told to stop.
func (l *listeners) call(ctx context.Context, code *int, moment func(context.Context, wire.Listener) error) {
	for _, to := range l.list() {
		switch err := to.notify(ctx, moment); {
		case err == nil:
		case !to.needed:
			l.log.Warn(to.failMessage, "error", err)
		default:
			l.log.Error(to.failMessage, "error", err)
			if *code == jobs.ExitDone {
				*code = jobs.ExitFailed
				if jobs.Stopped(ctx) {
					*code = jobs.ExitInterrupted
				}
			}
		}
	}
}

// notify calls the listener within its time limit.
func (to registeredListener) notify(ctx context.Context, moment func(context.Context, wire.Listener) error) error {
	if to.timeLimit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), to.timeLimit)
		defer cancel()
	}
	return moment(ctx, to.Listener)
}

// begun notifies the listeners that a run has begun.
func (l *listeners) begun(ctx context.Context, r *wire.RunInfo) {
	l.call(ctx, &r.Record.Exit, func(ctx context.Context, to wire.Listener) error { return to.Begun(ctx, r) })
}

// ended notifies the listeners that the units of a run are done.
func (l *listeners) ended(ctx context.Context, r *wire.RunInfo) {
	l.call(ctx, &r.Record.Exit, func(ctx context.Context, to wire.Listener) error { return to.Ended(ctx, r) })
}

// closed notifies the listeners that the process ends, and returns its exit code.
func (l *listeners) closed(ctx context.Context, code int, err error) int {
	l.call(ctx, &code, func(ctx context.Context, to wire.Listener) error { return to.Closed(ctx, code, err) })
	return code
}
