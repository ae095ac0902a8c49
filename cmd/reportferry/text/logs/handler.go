// Package logs writes the log for machines: one object of JSON a line, whose fields have one type
// and one unit each. Without it, a query over last month's logs would find a duration as a number
// here and as a text there, and miss lines that lack a field.
package logs

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/text/exit"
	"github.com/reportferry/reportferry/internal/telemetry/step"
)

// New writes records of the level and above as JSON to w.
func New(w io.Writer, level slog.Level) slog.Handler {
	return handler{json: slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: cloudNames})}
}

// A handler brings records into the form of the schema. It keeps the attributes of a logger until a
// record comes, because the later of two values under one name replaces the earlier one.
type handler struct {
	json  slog.Handler
	attrs []slog.Attr
}

// Enabled tells whether the JSON handler writes lines of a level.
func (h handler) Enabled(ctx context.Context, l slog.Level) bool { return h.json.Enabled(ctx, l) }

// WithGroup ignores the group, because the fields of the schema are flat.
func (h handler) WithGroup(string) slog.Handler { return h }

// WithAttrs keeps the attributes for each record.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = slices.Concat(h.attrs, attrs)
	return h
}

// Handle writes a record. Every line has the run and the job, empty where there is none: they come
// from the logger or the record, otherwise from the context.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
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
			line.AddAttrs(slog.String("reason", exit.Reason(err)))
		}
		a.Value = plain(a.Value)
		line.AddAttrs(a)
	}
	return h.json.Handle(ctx, line)
}

// plain converts a duration to seconds, and an error or a time to text.
func plain(v slog.Value) slog.Value {
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
