package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/apps"
	"github.com/reportferry/reportferry/jobs/outbox"
)

// reason is a stable word for what kind of failure an error is. Alerts are made of these words, so none of them changes;
// deploy/README.md says what to do about each.
func reason(err error) string {
	var damaged *jobs.DamagedError
	var sink *jobs.SinkError
	var header *table.HeaderError
	var cell *table.CellError
	var service *adjust.Error
	switch {
	case errors.Is(err, jobs.ErrRefused):
		return "config"
	case jobs.Denied(err), errors.Is(err, adjust.ErrAuth):
		return "denied"
	case errors.Is(err, adjust.ErrClock):
		return "clock"
	case errors.As(err, &damaged):
		return "ledger_damaged"
	case errors.Is(err, jobs.ErrLost):
		return "claim_lost"
	case errors.Is(err, jobs.ErrLedger):
		return "ledger"
	case errors.Is(err, jobs.ErrEmptied):
		return "emptied"
	case errors.Is(err, outbox.ErrTooMany), errors.Is(err, outbox.ErrForgotten):
		return "file"
	case errors.Is(err, apps.ErrMigration):
		return "migration"
	case errors.As(err, &sink):
		return "sink"
	case errors.As(err, &header), errors.As(err, &cell), errors.Is(err, table.ErrEmpty):
		return "answer" // not what was asked for
	case errors.Is(err, adjust.ErrTooSlow):
		return "service_slow"
	case errors.As(err, &service):
		return "service"
	}
	return "other"
}

// A reasoner adds the reason to every error that is logged with its status.
type reasoner struct{ slog.Handler }

func (h reasoner) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		why := ""
		r.Attrs(func(a slog.Attr) bool {
			if err, ok := a.Value.Any().(error); ok && a.Key == "status" {
				why = reason(err)
			}
			return why == ""
		})
		if why != "" {
			r = r.Clone()
			r.AddAttrs(slog.String("reason", why))
		}
	}
	return h.Handler.Handle(ctx, r)
}

func (h reasoner) WithAttrs(attrs []slog.Attr) slog.Handler {
	return reasoner{h.Handler.WithAttrs(attrs)}
}

func (h reasoner) WithGroup(name string) slog.Handler { return reasoner{h.Handler.WithGroup(name)} }
