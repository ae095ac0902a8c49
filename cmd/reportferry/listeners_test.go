package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/jobs"
)

// A failing listener can do nothing, and remembers what it was told.
type failing struct{ heard []string }

func (f *failing) Begun(context.Context, *wire.RunInfo) error {
	f.heard = append(f.heard, "begun")
	return errors.New("no begin")
}

func (f *failing) Ended(context.Context, *wire.RunInfo) error {
	f.heard = append(f.heard, "ended")
	return errors.New("no end")
}

func (f *failing) Closed(context.Context, int, error) error {
	f.heard = append(f.heard, "closed")
	return errors.New("no close")
}

// The rule for errors of listeners: each is said, in its own words; a run without one that somebody
// waits for has failed, unless it has another exit code already; and the others hear all the same.
func TestWhatAnErrorOfAListenerDoes(t *testing.T) {
	for _, c := range []struct {
		name      string
		place     func(*listeners, wire.Listener)
		code, end int
		level     string
	}{
		{"a result", func(l *listeners, f wire.Listener) { l.result = f }, jobs.ExitDone, jobs.ExitFailed,
			"level=ERROR msg=\"the result"},
		{"a step", func(l *listeners, f wire.Listener) { l.dagster = f }, jobs.ExitDone, jobs.ExitFailed,
			"level=ERROR msg=\"the step"},
		{"a result of a failure", func(l *listeners, f wire.Listener) { l.result = f }, jobs.ExitSome, jobs.ExitSome,
			"level=ERROR msg=\"the result"},
		{"a catalogue", func(l *listeners, f wire.Listener) { l.lineage = f }, jobs.ExitDone, jobs.ExitDone,
			"level=WARN msg=\"the catalogue"},
		{"a watcher", func(l *listeners, f wire.Listener) { l.heartbeat = f }, jobs.ExitSome, jobs.ExitSome,
			"level=WARN msg=\"the heartbeat"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			f, last := &failing{}, &failing{}
			l := &listeners{log: slog.New(slog.NewTextHandler(&log, nil)), dagster: wire.NoListener{},
				lineage: wire.NoListener{},
				result:  wire.NoListener{}, heartbeat: last}
			c.place(l, f)
			r := &wire.RunInfo{}
			l.begun(t.Context(), r)
			if r.Record.Exit = c.code; l.closed(t.Context(), c.code, nil) != c.end {
				t.Errorf("the exit code isn't %d", c.end)
			}
			if got := strings.Join(f.heard, " "); got != "begun closed" || l.heartbeat == last && len(last.heard) != 2 {
				t.Errorf("heard %s, and the last %v", got, last.heard)
			}
			for _, why := range []string{"no begin", "no close"} {
				if !strings.Contains(log.String(), c.level) || !strings.Contains(log.String(), why) {
					t.Errorf("%s isn't said as %s:\n%s", why, c.level, &log)
				}
			}
		})
	}
}

// A listener's time is bounded, and begins when the run was stopped too.
func TestTheTimeOfAListener(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, to := range (&listeners{dagster: wire.NoListener{}, lineage: wire.NoListener{}, result: wire.NoListener{},
		heartbeat: wire.NoListener{}}).list() {
		if to.failMessage == "" {
			t.Errorf("%T has no words for its failure", to.Listener)
		}
		_ = to.notify(stopped, func(ctx context.Context, _ wire.Listener) error {
			if _, bounded := ctx.Deadline(); bounded != (to.timeLimit > 0) || (ctx.Err() == nil) != bounded {
				t.Errorf("%s: bounded %v, %v", to.failMessage, bounded, ctx.Err())
			}
			return nil
		})
	}
}
