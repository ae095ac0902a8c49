package wire

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/telemetry/step"
)

// A line for people begins with the time of day where they are; a record without a time has none.
// Where there are many runs, the end of its ID follows.
func TestLogLinesHaveATimeOfDay(t *testing.T) {
	var out bytes.Buffer
	h := (&Program{LogFormat: "text", LogLevel: "info"}).Logger(&out).Handler()
	at := time.Date(2026, 1, 31, 23, 5, 9, 999e6, time.FixedZone("there", 2*60*60))
	for _, r := range []slog.Record{slog.NewRecord(at, slog.LevelWarn, "slow\x1b", 0),
		slog.NewRecord(time.Time{}, slog.LevelError, "failed", 0)} {
		r.Add("job", "installs", "run", "20260131T210000.000Z-1f2e3d4c")
		check(t, h.Handle(t.Context(), r))
	}
	stays := (&Program{LogFormat: "text", LogLevel: "info", ManyRuns: true}).Logger(&out).Handler()
	check(t, stays.Handle(step.OfRun(t.Context(), "20260131T210000.000Z-1f2e3d4c"),
		slog.NewRecord(at, slog.LevelWarn, "of a run", 0)))
	check(t, stays.Handle(t.Context(), slog.NewRecord(at, slog.LevelWarn, "of none", 0)))
	if want := "23:05:09 warn slow\\u001b job=installs\nerror failed job=installs\n23:05:09 1f2e3d4c warn of a " +
		"run\n23:05:09 warn of none\n"; out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
}

// A long line goes on in others, between words, and one on a retry is cut; both are as wide as
// lines may be, with the stamp of a process that does many runs too.
func TestLogLinesAreFolded(t *testing.T) {
	path := strings.Repeat("p", 120)
	for _, stamp := range []string{"", "23:05:09 1f2e3d4c "} {
		out := stampedBuffer{stamp: stamp}
		log := (&Program{LogFormat: "text", LogLevel: "info"}).Logger(&out)
		cause := errors.New(strings.Repeat("no space left ", 20) + "in file://" + path + " of the device")
		log.Warn("the sink has a remark", "error", cause)
		log.Warn("attempt 1 of 4 failed", "error", cause, "wait", time.Second)
		lines, long := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), 0
		for _, line := range lines {
			if !strings.Contains(line, path) && len(stamp)+len(line) > Width {
				t.Errorf("%d columns: %s%s", len(stamp)+len(line), stamp, line)
			}
			long = max(long, len(stamp)+len(line))
		}
		if whole := strings.Join(strings.Fields(out.String()), " "); len(lines) < 5 || long < len(path) ||
			!strings.Contains(whole, strings.Join(strings.Fields(cause.Error()), " ")) {
			t.Errorf("it isn't said in whole:\n%s", &out)
		}
	}
}

type stampedBuffer struct {
	bytes.Buffer
	stamp string
}

func (b *stampedBuffer) Stamp() string { return b.stamp }
