package wire

import (
	"bytes"
	"log/slog"
	"testing"
	"time"
)

// A line for people begins with the time of day where they are; a record without a time has none.
func TestLogLinesHaveATimeOfDay(t *testing.T) {
	var out bytes.Buffer
	h := (&Program{LogFormat: "text", LogLevel: "info"}).Logger(&out).Handler()
	at := time.Date(2026, 1, 31, 23, 5, 9, 999e6, time.FixedZone("there", 2*60*60))
	for _, r := range []slog.Record{slog.NewRecord(at, slog.LevelWarn, "slow\x1b", 0), slog.NewRecord(time.Time{}, slog.LevelError, "failed", 0)} {
		r.Add("job", "installs", "run", "20260131T210000.000Z-1f2e3d4c")
		check(t, h.Handle(t.Context(), r))
	}
	if want := "23:05:09 warn slow\\u001b job=installs\nerror failed job=installs\n"; out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
}
