package wire

import (
	"context"

	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// A Listener hears of a run. What its errors do says whoever has the list of all listeners.
type Listener interface {
	// Begun is called when the run is recorded, before its units are done.
	Begun(context.Context, *Ran) error
	// Ended is called when its units are over, while its ledger and its sinks are open.
	Ended(context.Context, *Ran) error
	// Closed is called when all is closed, with the exit code and the error behind it, also of a
	// run that could not begin.
	Closed(ctx context.Context, code int, err error) error
}

// A Ran is a run as its listeners see it.
type Ran struct {
	*Session
	List       []jobs.Job     // those that this process has looked at
	Plans      []jobs.Planned // of each of them
	Record     ledger.Run     // Exit is that of all that was done before
	Unrecorded string         // why the ledger has no record of it; empty: it has one
}

// NoListener is a listener that hears nothing. Others embed it for the moments that are nothing to
// them.
type NoListener struct{}

// Begun does nothing.
func (NoListener) Begun(context.Context, *Ran) error { return nil }

// Ended does nothing.
func (NoListener) Ended(context.Context, *Ran) error { return nil }

// Closed does nothing.
func (NoListener) Closed(context.Context, int, error) error { return nil }

// AtEnd is a listener that hears of the end alone.
func AtEnd(ended func(context.Context, *Ran) error) Listener { return atEnd{ended: ended} }

type atEnd struct {
	NoListener
	ended func(context.Context, *Ran) error
}

func (a atEnd) Ended(ctx context.Context, r *Ran) error { return a.ended(ctx, r) }
