package files

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
)

// addOutcome adds the result of pushing one file to out, and logs it. A file that is still being
// written waits for a later run, and isn't a failure. Records in doubt that wait for a person, and
// those that are pending, are a failure, even though the rest of the file is done.
func addOutcome(log *slog.Logger, out *ledger.Outcome, r outbox.Report, err error) error {
	switch {
	case errors.Is(err, outbox.ErrGrowing):
		log.Info("waiting", "error", err)
		one := ledger.Outcome{Waiting: 1}
		if quiet := (*outbox.QuietError)(nil); errors.As(err, &quiet) {
			one.Due = quiet.Due
		}
		out.Add(one)
		return nil
	case err != nil:
		out.Failed++
		return err
	case r.Same:
		out.Unchanged++
	default:
		out.Written++
		out.Rows += r.Accepted
		out.Refused += r.Refused
		out.Rejected += r.Rejected
		out.Partly += r.Partly
		out.Conflicts += r.Conflicts
		out.Skipped += r.Skipped
		logReport(log, r)
	}
	switch {
	case r.Unknown > 0 && r.Pending > 0:
		return fmt.Errorf("push %s: %w: %d, and %d that wait for them; requeue has them sent again", r.Name, ErrParked,
			r.Unknown, r.Pending)
	case r.Unknown > 0:
		return fmt.Errorf("push %s: %w: %d; requeue has them sent again", r.Name, ErrParked, r.Unknown)
	case r.Pending > 0:
		return fmt.Errorf("push %s: %d records wait for earlier ones, of another file, that are pending or in doubt",
			r.Name, r.Pending)
	}
	return nil
}

// ErrParked says that, with on_unknown: park, a person has to decide about some records, because
// nobody knows whether the service took them.
var ErrParked = errors.New("records in doubt are parked")

// logReport logs what a person should know about a file that was pushed.
func logReport(log *slog.Logger, r outbox.Report) {
	args := []any{
		"rows", r.Rows, "accepted", r.Accepted, "duplicates", r.Duplicates, "refused", r.Refused, "rejected",
		r.Rejected,
		"partly", r.Partly, "conflicts", r.Conflicts, "skipped", r.Skipped, "unknown", r.Unknown, "resent", r.Resent,
		"note", pushNote(r),
	}
	if len(r.Reasons) > 0 {
		args = append(args, "most", r.Reasons[0].String())
	}
	if r.NotTaken()+r.Unknown+r.Pending > 0 {
		log.Warn("pushed, but for some rows", args...)
		return
	}
	log.Info("pushed", args...)
}

// pushNote returns a note on what was sent of the file.
func pushNote(r outbox.Report) string {
	status := "the file is new"
	if r.Changed {
		status = "the file has changed since it was pushed; only its new records were sent"
	}
	if r.Pending > 0 {
		status += "; rows that wait for an earlier one in doubt are left for the next run"
	}
	if r.Rejects != "" {
		status += "; rows that were not taken are in " + r.Rejects
	}
	return status
}
