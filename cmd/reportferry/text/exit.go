package text

import (
	"errors"
	"fmt"
	"strings"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/wording"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// An ExitError ends the process with a code. Err is nil when the message was printed already.
type ExitError struct {
	Code int
	Err  error
}

// Error returns the message of Err.
func (e *ExitError) Error() string { return fmt.Sprint(e.Err) }

// Unwrap returns Err.
func (e *ExitError) Unwrap() error { return e.Err }

// UsageError marks err as a fault of the command line or the config: nothing was asked of the
// service, and nothing was written.
func UsageError(err error) error { return &ExitError{jobs.ExitUsage, err} }

// SilentExit returns an error that ends the process with a code and prints nothing, for commands
// that have printed the reason.
func SilentExit(code int) error { return &ExitError{Code: code} }

// WithExitCode gives err the exit code that its cause asks for, unless it has one already.
func WithExitCode(err error) error {
	var coded *ExitError
	switch {
	case err == nil || errors.As(err, &coded):
		return err
	case errors.Is(err, ledger.ErrRefused):
		return &ExitError{jobs.ExitUsage, err}
	case jobs.Denied(err), errors.Is(err, adjust.ErrAuth):
		return &ExitError{jobs.ExitDenied, err}
	}
	return &ExitError{jobs.ExitFailed, err}
}

// ExitCode returns the exit code of an error, ExitDone for nil.
func ExitCode(err error) int {
	var coded *ExitError
	if errors.As(WithExitCode(err), &coded) {
		return coded.Code
	}
	return jobs.ExitDone
}

// RefusedError marks an error from opening something as a fault of the config, unless a permission
// was refused.
func RefusedError(err error) error {
	if jobs.Denied(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ledger.ErrRefused, err)
}

// ExitHelp lists the codes for the help of a command.
func ExitHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, c := range wording.Codes {
		fmt.Fprintf(&b, "  %-3d  %s\n", c.Code, strings.ReplaceAll(Fold(c.Meaning, 73), "\n", "\n       "))
	}
	return b.String()
}
