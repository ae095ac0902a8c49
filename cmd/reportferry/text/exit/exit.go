// Package exit maps errors to the program's exit code, and to the word by which alerts recognize a
// kind of failure. Without it, a scheduler couldn't tell a wrong config from a refused token or an
// outage, and alerts would match the wording of messages.
//
//	error ── Coded ── *Error ── exit code of the process        (wording.Codes lists them)
//	  └───── Reason ─────────── "reason" of the log's line      (Reasons lists them)
package exit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/reportferry/reportferry/cmd/reportferry/text/human"
	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/wording"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// An Error ends the process with a code. Err is nil when the message was printed already.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string { return fmt.Sprint(e.Err) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Usage marks err as a fault of the command line or the config: nothing was asked of the service,
// and nothing was written.
func Usage(err error) error { return &Error{jobs.ExitUsage, err} }

// Silent returns an error that ends the process with a code and prints nothing, for commands that
// have printed the reason.
func Silent(code int) error { return &Error{Code: code} }

// Coded gives err the exit code that its cause asks for, unless it has one already.
func Coded(err error) error {
	var coded *Error
	switch {
	case err == nil || errors.As(err, &coded):
		return err
	case errors.Is(err, ledger.ErrRefused):
		return &Error{jobs.ExitUsage, err}
	case jobs.Denied(err), errors.Is(err, adjust.ErrAuth):
		return &Error{jobs.ExitDenied, err}
	}
	return &Error{jobs.ExitFailed, err}
}

// CodeOf returns the exit code of an error, ExitDone for nil.
func CodeOf(err error) int {
	var coded *Error
	if errors.As(Coded(err), &coded) {
		return coded.Code
	}
	return jobs.ExitDone
}

// Refused marks an error from opening something as a fault of the config, unless a permission was
// refused.
func Refused(err error) error {
	if jobs.Denied(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ledger.ErrRefused, err)
}

// Help lists the codes for the help of a command.
func Help() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, c := range wording.Codes {
		fmt.Fprintf(&b, "  %-3d  %s\n", c.Code, strings.ReplaceAll(human.Fold(c.Meaning, 73), "\n", "\n       "))
	}
	return b.String()
}
