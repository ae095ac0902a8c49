package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const nobodyListens = `service: {base_url: "http://127.0.0.1:1", token: "${ADJUST_TOKEN}", in_flight: 1}
jobs:
  - {name: daily, kind: report, sinks: ["file://./out"], start: -200d, currency: USD, dimensions: [day], metrics: [installs], codec: snappy}
`

// Where nothing listens, a person who waits is told within seconds, and a run that a schedule began
// goes on trying for as long as it may.
func TestNothingListensToAPerson(t *testing.T) {
	t.Setenv("ADJUST_TOKEN", "made-up")
	const report, run = "report --dimensions day --metrics installs", "run --now --no-progress"
	for _, c := range []struct {
		command  string
		terminal bool
		from, to time.Duration
	}{
		{"check", false, 0, 4 * time.Second},
		{report, false, 0, 4 * time.Second},
		{run, true, 0, 4 * time.Second},
		{run, false, 10 * time.Second, 3 * time.Minute},
	} {
		file := filepath.Join(t.TempDir(), "reportferry.yml")
		check(t, os.WriteFile(file, []byte(nobodyListens), 0o600))
		person, terminal := newTerminal(t)
		go func() { _, _ = io.Copy(io.Discard, person) }()
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(10 * 365 * 24 * time.Hour)
			var out bytes.Buffer
			seen := io.Writer(&out)
			if c.terminal {
				seen = terminal
			}
			began := time.Now()
			code := execute(t.Context(), append(strings.Fields(c.command), "--config", file), &out, seen)
			if took := time.Since(began); code != 1 || took < c.from || took > c.to ||
				!strings.Contains(out.String(), "connection refused; check the network") {
				t.Errorf("%s, on a terminal: %v: exit code %d after %v: %s", c.command, c.terminal, code, took,
					out.String())
			}
		})
	}
}
