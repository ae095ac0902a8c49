package files

import (
	"errors"
	"log/slog"

	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/outbox"
)

// Outcome adds to out what came of pushing one file, and logs it. A file that is being written is left for the next run,
// and is no failure.
func Outcome(log *slog.Logger, out *jobs.Outcome, r outbox.Report, err error) error {
	var held *jobs.HeldError
	switch {
	case errors.Is(err, outbox.ErrGrowing):
		log.Info("left for the next run", "status", err)
		return nil
	case errors.As(err, &held):
		return err
	case err != nil:
		out.Failed++
		return err
	case r.Same:
		out.Unchanged++
		return nil
	}
	out.Written++
	out.Rows += r.Accepted
	tell(log, r)
	return nil
}

// tell logs what a person should know of a file that was pushed.
func tell(log *slog.Logger, r outbox.Report) {
	args := []any{
		"rows", r.Rows, "accepted", r.Accepted, "duplicates", r.Duplicates, "refused", r.Refused, "rejected", r.Rejected,
		"conflicts", r.Conflicts, "unknown", r.Unknown, "resent", r.Resent, "status", pushed(r),
	}
	if r.Refused+r.Rejected+r.Conflicts+r.Unknown+r.Pending > 0 {
		log.Warn("pushed, but for some rows", args...)
		return
	}
	log.Info("pushed", args...)
}

func pushed(r outbox.Report) string {
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
