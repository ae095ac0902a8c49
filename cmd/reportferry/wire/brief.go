package wire

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/reportferry/reportferry/internal/lazy"
)

// Few is how many messages of one kind people are shown before the rest is only counted.
const Few = 3

var figures = lazy.Regexp(`[0-9][0-9.:TZ-]*(s|ms|m)?`)

// Kind is what two messages have in common that differ by days, times and numbers alone.
func Kind(message string) string { return figures().ReplaceAllString(message, "#") }

// Brief is a log for one run, in which people read of a failure of one kind a few times and not once for each of hundreds of
// windows. The summary of the run counts them. A log for machines keeps all.
func (p *Program) Brief(log *slog.Logger) *slog.Logger {
	if p.JSON() {
		return log
	}
	return slog.New(brief{log.Handler(), &tally{seen: map[string]int{}}})
}

// A tally counts messages by their kind.
type tally struct {
	mu   sync.Mutex
	seen map[string]int
}

type brief struct {
	slog.Handler
	*tally
}

// Handle passes the first few errors of a kind on, without what to do about them, which the summary says. It says once that the
// others are counted.
func (h brief) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelError {
		return h.Handler.Handle(ctx, r)
	}
	kind := r.Message
	short := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" {
			cause := fmt.Sprint(a.Value.Any())
			kind += Kind(cause)
			cause, _, _ = strings.Cut(cause, "; ")
			a.Value = slog.StringValue(cause)
		}
		short.AddAttrs(a)
		return true
	})
	h.mu.Lock()
	h.seen[kind]++
	n := h.seen[kind]
	h.mu.Unlock()
	switch {
	case n <= Few:
		return h.Handler.Handle(ctx, short)
	case n == Few+1:
		return h.Handler.Handle(ctx, slog.NewRecord(r.Time, r.Level, "more like this, which the end of the run counts", r.PC))
	}
	return nil
}

func (h brief) WithAttrs(attrs []slog.Attr) slog.Handler {
	return brief{h.Handler.WithAttrs(attrs), h.tally}
}

func (h brief) WithGroup(name string) slog.Handler { return brief{h.Handler.WithGroup(name), h.tally} }
