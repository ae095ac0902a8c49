package jobs

import (
	"context"
	"errors"
	"io/fs"

	"gocloud.dev/gcerrors"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// Exit codes of a run.
const (
	ExitDone        = 0
	ExitFailed      = 1   // nothing was done, because of errors
	ExitUsage       = 2   // the config is refused
	ExitSome        = 3   // some units failed, or what was done isn't as the config asks
	ExitHeld        = 4   // other runs held all units of a job that a person named
	ExitDenied      = 5   // the service or a store refused the credentials
	ExitInterrupted = 130 // the run was stopped, or had no time for some units
)

// ExitCode returns the exit code of a run: the first of 2, 5, 1, 3, 4 and 0 that is the code of one
// of its jobs. A run that was stopped, or that had no time for some units, ends with 130. named
// says that a person asked for these jobs; only then are units that others hold a failure.
func ExitCode(results []ledger.Result, stopped, named bool) int {
	codes := map[int]bool{}
	for _, r := range results {
		codes[exitCodeOf(r, named)] = true
		stopped = stopped || r.Left > 0
	}
	if stopped {
		return ExitInterrupted
	}
	for _, code := range []int{ExitUsage, ExitDenied, ExitFailed, ExitSome, ExitHeld} {
		if codes[code] {
			return code
		}
	}
	return ExitDone
}

// exitCodeOf returns the exit code of one job.
func exitCodeOf(r ledger.Result, named bool) int {
	var refused, denied bool
	for _, err := range r.Errs {
		refused = refused || errors.Is(err, ledger.ErrRefused)
		denied = denied || Denied(err)
	}
	switch {
	case refused:
		return ExitUsage
	case denied:
		return ExitDenied
	case len(r.Errs) > 0 && r.Outcome.Done() > 0:
		return ExitSome
	case len(r.Errs) > 0:
		return ExitFailed
	case r.Outcome.AllBlank():
		return ExitSome
	case r.Outcome.NotTaken() > 0:
		return ExitSome
	case r.Outcome.HeldBack+r.Outcome.Unreconciled+r.Outcome.Suspected+
		r.Outcome.Unkept+r.Outcome.Drifted+r.Outcome.Unseen > 0:
		return ExitSome // done, but not as the config asks
	case named && r.Outcome.Windows > 0 && r.Outcome.Held == r.Outcome.Windows:
		return ExitHeld
	}
	return ExitDone
}

// Denied tells whether the service or a store refused the credentials: going on would only repeat
// that.
func Denied(err error) bool {
	return errors.Is(err, ErrDenied) || errors.Is(err, fs.ErrPermission) ||
		gcerrors.Code(err) == gcerrors.PermissionDenied
}

// Stopped tells whether the context ended because the process was asked to stop.
func Stopped(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }
