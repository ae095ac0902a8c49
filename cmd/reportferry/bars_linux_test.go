package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// On a terminal of 80 columns a run draws bars, which fit; --no-progress writes lines, and --quiet
// nothing.
func TestBarsOnATerminal(t *testing.T) {
	const table = "run --to ./out --embedded --currency USD --dimensions day,network --metrics installs,cost " +
		"--start -9d"
	moves := regexp.MustCompile(`\x1b\[[0-9]*[A-Z]`)
	for flag, want := range map[string]*regexp.Regexp{
		"":              regexp.MustCompile(`(?m)^day_network +\[=+\] (2/2|3/3) windows +in \d+s +153 rows *$`),
		"--no-progress": regexp.MustCompile(`(?m)^day_network +window \S+ +(2/2|3/3) +written`),
		"--quiet":       regexp.MustCompile(`^$`),
	} {
		seen, code := converse(t, t.TempDir(), strings.Fields(table+" "+flag), nil)
		plain := moves.ReplaceAllString(seen, "")
		if code != 0 || !want.MatchString(plain) {
			t.Errorf("%q: exit code %d: %q", flag, code, plain)
		}
		if drawn := moves.MatchString(seen); drawn != (flag == "") {
			t.Errorf("%q: draws: %v", flag, drawn)
		}
		for line := range strings.Lines(plain) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\r\n")); n > 80 {
				t.Errorf("%q: %d columns: %s", flag, n, line)
			}
		}
	}
}

// What the service asks a run to wait for is seen while it waits.
func TestBarsTellOfWaits(t *testing.T) {
	base, stop := serveEmulator(t)
	defer stop()
	(&service{url: base}).admin(t, http.MethodPut, "faults",
		json.RawMessage(`[{"path": "csv_report", "kind": "status", "status": 429, "retry_after": 2}]`))
	t.Setenv("TOKEN", "secret-1")
	seen, code := converse(t, t.TempDir(),
		strings.Fields("run --to ./out --base-url "+base+" --token-env TOKEN --currency USD --dimensions day "+
			"--metrics installs --start -2d"), nil)
	if code != 0 || !strings.Contains(seen, "back-off 2 s: 429") || !strings.Contains(seen, "back-off 1 s: 429") {
		t.Errorf("exit code %d: %s", code, seen)
	}
}

// Where bars can't be drawn there are lines, so that nobody looks at nothing.
func TestLinesWhereNoBarsFit(t *testing.T) {
	person, terminal := newTerminal(t)
	drawn := func(kind string) bool {
		p := program("", "text")
		p.LookupEnv = func(string) (string, bool) { return kind, true }
		d := newDisplay(p, &bytes.Buffer{}, terminal)
		if d.bars != nil {
			d.bars.Close()
		}
		return d.bars != nil
	}
	if !drawn("xterm") || drawn("dumb") {
		t.Errorf("bars: %v on a terminal, %v on one that can't move back", drawn("xterm"), drawn("dumb"))
	}
	for _, size := range [][2]uint16{{0, 0}, {0, 80}, {24, 0}} {
		if resize(t, person, size[0], size[1]); drawn("xterm") {
			t.Errorf("bars on a terminal of %d lines with %d columns", size[0], size[1])
		}
	}
}
