package wire

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/telemetry/step"
	"github.com/reportferry/reportferry/internal/terminal"
	"github.com/reportferry/reportferry/jobs"
)

// Logger returns a logger to w: JSON with the names of Cloud Logging for machines, or short lines
// for people.
func (p *Program) Logger(w io.Writer) *slog.Logger {
	level, _ := p.level() // checked before any command
	if p.Quiet {
		level = max(level, slog.LevelWarn)
	}
	if p.JSON() {
		return slog.New(p.withCollector(text.NewLogHandler(w, level).WithAttrs(p.Task.logAttrs()), level))
	}
	// People see the progress itself, so of the log they get warnings and errors only.
	return slog.New(p.withCollector(&lineHandler{w: w, level: max(level, slog.LevelWarn), mu: &sync.Mutex{},
		all: level < slog.LevelInfo, namesRun: p.ManyRuns}, level))
}

// Standard sends what Go's own packages print with package log to the program's log, because they
// have no other way to report it: for example that an answer came that nobody asked for, or that a
// server's TLS handshake failed. The function that it returns undoes this.
func Standard(to *slog.Logger) (undo func()) {
	flags, before := log.Flags(), log.Writer()
	log.SetFlags(0)
	log.SetOutput(slog.NewLogLogger(to.Handler(), slog.LevelWarn).Writer())
	return func() { log.SetFlags(flags); log.SetOutput(before) }
}

// Note writes a remark beside the answer of a command: a line of text for people, or a record of
// the log for machines.
func (p *Program) Note(w io.Writer, text string) {
	if p.JSON() {
		p.Logger(w).Info(text)
		return
	}
	fmt.Fprintln(w, text)
}

// withCollector returns a handler that also sends records to the collector, if there is one.
func (p *Program) withCollector(h slog.Handler, level slog.Level) slog.Handler {
	if p.Collected == nil {
		return h
	}
	return slog.NewMultiHandler(h, levelFilter{p.Collected, level})
}

// A levelFilter is a handler that leaves out records below a level.
type levelFilter struct {
	slog.Handler
	level slog.Level
}

// Enabled tells whether records of a level are kept.
func (h levelFilter) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

// WithAttrs adds the attributes to the handler that is filtered.
func (h levelFilter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return levelFilter{h.Handler.WithAttrs(attrs), h.level}
}

// Traced returns a logger that adds the IDs of the trace and the span in ctx, which are the run's.
// Logs for people don't have them.
func (p *Program) Traced(ctx context.Context, log *slog.Logger) *slog.Logger {
	at := trace.SpanContextFromContext(ctx)
	if !p.JSON() || !at.IsValid() {
		return log
	}
	id := at.TraceID().String()
	if p.Task.project != "" {
		id = "projects/" + p.Task.project + "/traces/" + id
	}
	return log.With("logging.googleapis.com/trace", id, "logging.googleapis.com/spanId", at.SpanID().String())
}

// Width is how many columns a line of the log has at most, unless a single word is longer.
const Width = 100

// indent is by how many columns the second and further lines of a record are indented.
const indent = 4

// A Stamped is a writer that puts the time and the run before each line by itself. Stamp returns
// what it puts there.
type Stamped interface{ Stamp() string }

// A lineHandler writes a record as plain text: time of day, level, message, then the attributes. A
// record of a retry is cut to one line; others are folded into further lines, which are indented.
// The time is in the zone of the process.
type lineHandler struct {
	w        io.Writer
	mu       *sync.Mutex
	level    slog.Level
	all      bool // every record is written, whatever its level
	namesRun bool // each line names its run
	attrs    []slog.Attr
}

// Enabled tells whether records of a level are written.
func (h *lineHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level || h.all }

// Handle writes the record without the run's ID or, where there are many runs, with the end of that
// ID.
func (h *lineHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == jobs.WindowFailed { // the end of the run reports it, with what to do
		return nil
	}
	var b strings.Builder
	width := Width
	if s, ok := h.w.(Stamped); ok {
		width -= len(s.Stamp())
	} else if !r.Time.IsZero() {
		b.WriteString(r.Time.Format(time.TimeOnly) + " ")
		if run, _ := step.Of(ctx); h.namesRun && run != "" {
			b.WriteString(run[strings.LastIndexByte(run, '-')+1:] + " ")
		}
	}
	retry := false
	fmt.Fprintf(&b, "%s %s", strings.ToLower(r.Level.String()), terminal.Line(r.Message))
	add := func(a slog.Attr) bool {
		retry = retry || a.Key == "wait"
		if a.Key != "run" { // it would be the same on every line
			fmt.Fprintf(&b, " %s=%s", a.Key, terminal.Line(text.FirstLine(a.Value.String())))
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	line := b.String()
	if retry {
		line = text.Cut(line, width)
	} else {
		line = strings.ReplaceAll(text.Fold(line, width-indent), "\n", "\n"+strings.Repeat(" ", indent))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.w, line+"\n")
	return err
}

// WithAttrs returns a handler that writes these attributes in every line, too.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.attrs = append(append([]slog.Attr{}, h.attrs...), attrs...)
	return &c
}

// WithGroup ignores the group, because lines for people are flat.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }
