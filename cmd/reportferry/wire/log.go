package wire

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/reportferry/reportferry/cmd/reportferry/exit"
	"github.com/reportferry/reportferry/cmd/reportferry/human"
	"github.com/reportferry/reportferry/internal/terminal"
)

// Logger returns a logger to w: JSON with the names of Cloud Logging for machines, or short lines for people.
func (p *Program) Logger(w io.Writer) *slog.Logger {
	level, _ := p.level() // checked before any command
	if p.Quiet {
		level = max(level, slog.LevelWarn)
	}
	if p.JSON() {
		return slog.New(reasoner{slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: cloudNames})}.WithAttrs(p.Task.attrs()))
	}
	// People see the progress itself, so of the log they get warnings and errors only.
	return slog.New(&lineHandler{w: w, level: max(level, slog.LevelWarn), mu: &sync.Mutex{}, debug: level < slog.LevelInfo})
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

// A lineHandler writes a record as one line of plain text: time of day, level, message, then the attributes. The time is of the
// zone that the terminal is in.
type lineHandler struct {
	w     io.Writer
	mu    *sync.Mutex
	level slog.Level
	debug bool
	attrs []slog.Attr
}

func (h *lineHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level || h.debug }

// Handle writes the record, without the ID of the run.
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	if !r.Time.IsZero() {
		b.WriteString(r.Time.Format(time.TimeOnly) + " ")
	}
	fmt.Fprintf(&b, "%s %s", strings.ToLower(r.Level.String()), terminal.Line(r.Message))
	add := func(a slog.Attr) bool {
		if a.Key != "run" { // it would be the same on every line
			fmt.Fprintf(&b, " %s=%s", a.Key, terminal.Line(human.FirstLine(a.Value.String())))
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	b.WriteByte('\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.w, b.String())
	return err
}

func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.attrs = append(append([]slog.Attr{}, h.attrs...), attrs...)
	return &c
}

func (h *lineHandler) WithGroup(string) slog.Handler { return h }

// A reasoner adds the word of exit.Reason to every record of an error.
type reasoner struct{ slog.Handler }

// Handle looks for the error under the key status.
func (h reasoner) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		why := ""
		r.Attrs(func(a slog.Attr) bool {
			if err, ok := a.Value.Any().(error); ok && a.Key == "status" {
				why = exit.Reason(err)
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
