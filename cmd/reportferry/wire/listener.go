package wire

import (
	"context"

	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Listener is called at the steps of a run. Whoever has the list of all listeners decides what
// their errors do.
type Listener interface {
	// Begun is called when the run is recorded, before its units are done.
	Begun(context.Context, *RunInfo) error
	// Ended is called when the run's units are done, while its ledger and its sinks are open.
	Ended(context.Context, *RunInfo) error
	// Closed is called when everything is closed, with the exit code and the error behind it, also
	// of a run that could not begin.
	Closed(ctx context.Context, code int, err error) error
}

// RunInfo has what listeners need to know about a run.
type RunInfo struct {
	*Session
	List       []jobs.Job     // the jobs that this process has looked at
	Plans      []jobs.Planned // the plan of each job in List
	Record     ledger.Run     // of the run; Exit covers what was done before this call
	Unrecorded string         // why the ledger has no record of the run; empty when it has one
}

// NoListener is a listener that does nothing. Other listeners embed it for the steps that they
// ignore.
type NoListener struct{}

// Begun does nothing.
func (NoListener) Begun(context.Context, *RunInfo) error { return nil }

// Ended does nothing.
func (NoListener) Ended(context.Context, *RunInfo) error { return nil }

// Closed does nothing.
func (NoListener) Closed(context.Context, int, error) error { return nil }

// AtEnd returns a listener that calls ended at the end of a run, and does nothing else.
func AtEnd(ended func(context.Context, *RunInfo) error) Listener { return atEnd{ended: ended} }

// An atEnd is the listener that AtEnd returns.
type atEnd struct {
	NoListener
	ended func(context.Context, *RunInfo) error
}

// Ended calls the function.
func (a atEnd) Ended(ctx context.Context, r *RunInfo) error { return a.ended(ctx, r) }
