package text

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/reportferry/reportferry/internal/telemetry/step"
)

// NewLogHandler writes records of the level and above as JSON to w.
func NewLogHandler(w io.Writer, level slog.Level) slog.Handler {
	return logHandler{json: slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: cloudNames})}
}

// A logHandler brings records into the form of the schema. It keeps the attributes of a logger
// until a record comes, because the later of two values under one name replaces the earlier one.
type logHandler struct {
	json  slog.Handler
	attrs []slog.Attr
}

// Enabled tells whether the JSON handler writes lines of a level.
func (h logHandler) Enabled(ctx context.Context, l slog.Level) bool { return h.json.Enabled(ctx, l) }

// WithGroup ignores the group, because the fields of the schema are flat.
func (h logHandler) WithGroup(string) slog.Handler { return h }

// WithAttrs keeps the attributes for each record.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = slices.Concat(h.attrs, attrs)
	return h
}

// Handle writes a record. Every line has the run and the job, empty where there is none: they come
// from the logger or the record, otherwise from the context.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	run, job := step.Of(ctx)
	attrs := []slog.Attr{slog.String("run", run), slog.String("job", job)}
	add := func(a slog.Attr) bool {
		i := slices.IndexFunc(attrs, func(b slog.Attr) bool { return a.Key == b.Key })
		switch {
		case i < 0:
			attrs = append(attrs, a)
		case a.Value.Kind() != slog.KindString || a.Value.String() != "":
			attrs[i] = a
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	line := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	for _, a := range attrs {
		if err, is := a.Value.Any().(error); is && a.Key == "error" && r.Level >= slog.LevelError &&
			!slices.ContainsFunc(attrs, func(b slog.Attr) bool { return b.Key == "reason" }) {
			line.AddAttrs(slog.String("reason", FailureReason(err)))
		}
		a.Value = plainValue(a.Value)
		line.AddAttrs(a)
	}
	return h.json.Handle(ctx, line)
}

// plainValue converts a duration to seconds, and an error or a time to text.
func plainValue(v slog.Value) slog.Value {
	v = v.Resolve()
	if v.Kind() == slog.KindDuration {
		return slog.Float64Value(v.Duration().Seconds())
	}
	switch value := v.Any().(type) {
	case error:
		return slog.StringValue(value.Error())
	case time.Time:
		return slog.StringValue(value.UTC().Format(time.RFC3339Nano))
	}
	return v
}

// cloudNames renames the level and the message as Cloud Logging expects them
// (https://cloud.google.com/logging/docs/structured-logging).
func cloudNames(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.LevelKey:
		level, ours := a.Value.Any().(slog.Level)
		if !ours {
			return a
		}
		a.Key = "severity"
		if level == slog.LevelWarn {
			a.Value = slog.StringValue("WARNING")
		}
	case slog.MessageKey:
		a.Key = "message"
	}
	return a
}
