package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/slow"
)

// Each file of testdata/mistakes is a mistake that newcomers make: a sentence about it, the files
// of their folder, and a session on a terminal, of which every character is compared. In a session,
// the lines with a $ are
//
//	$ reportferry ...   a command, with what it prints and its exit code below; with > /dev/null only the exit code counts, 0
//	$ NAME=value        sets a variable of the environment
//	$ emulator ...      starts the service as a server, whose address is ${SERVICE}; the clock is then the real one
//	$ faults [...]      makes that server answer with faults
//	$ website           starts a server that is something else than the service, at ${SERVICE}
//	$ rm ...            removes a file or folder
func TestMistakes(t *testing.T) {
	slow.Test(t)
	files, err := filepath.Glob(filepath.Join(testdata, "mistakes/*.txt"))
	check(t, err)
	if len(files) < 75 {
		t.Errorf("%d mistakes, want at least 75", len(files))
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			check(t, err)
			before, session, found := strings.Cut(string(data), "-- session --\n")
			if !found {
				t.Fatal("no session")
			}
			dir := filepath.Join(t.TempDir(), "ferry")
			unpack(t, dir, before)
			t.Chdir(dir)
			t.Setenv("TMPDIR", "/tmp") // which the golden files name
			t.Setenv("ADJUST_TOKEN", "token-of-the-newcomer")
			m := &mistake{t: t, dir: dir}
			defer m.stopAll()
			got := before + "-- session --\n" + requestsRow.ReplaceAllString(anyLength.ReplaceAllString(m.play(session),
				"(0s)"), "  requests    1")
			if strings.Contains(session, "$ emulator") || strings.Contains(session, "$ website") {
				got = hourless(got)
			}
			if *update {
				check(t, os.WriteFile(path, []byte(got), 0o644))
			}
			if want, err := os.ReadFile(path); err != nil || got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if strings.Contains(got, "\nnewcomer") || strings.Contains(session, "\ntoken-of-the-newcomer") {
				t.Error("the token is shown")
			}
			for line := range strings.Lines(session) {
				if cause := twice(line); cause != "" && !strings.HasPrefix(line, "$") {
					t.Errorf("%q stands twice in %s", cause, line)
				}
			}
		})
	}
}

// unpack writes the files of a mistake, each below a line with its name.
func unpack(t *testing.T, dir, text string) {
	t.Helper()
	check(t, os.MkdirAll(dir, 0o755))
	_, text, _ = strings.Cut("\n"+text, "\n-- ")
	for part := range strings.SplitSeq(text, "\n-- ") {
		name, content, _ := strings.Cut(part, " --\n")
		if name == "" {
			continue
		}
		path := filepath.Join(dir, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, []byte(content+"\n"), 0o600))
	}
}

// A mistake is one that is being made.
type mistake struct {
	t       *testing.T
	dir     string
	service *service // that was started, if any
	stops   []func()
	clock   int // minutes that the clock is on
}

func (m *mistake) stopAll() {
	for _, stop := range m.stops {
		stop()
	}
}

// play does what the lines with a $ say, and gives the session as it went.
func (m *mistake) play(session string) string {
	var b strings.Builder
	for line := range strings.Lines(session) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "$" {
			continue
		}
		b.WriteString(line)
		name, value, isVariable := strings.Cut(words[1], "=")
		rest := strings.TrimSpace(strings.TrimPrefix(line, "$ "+words[1]))
		switch {
		case words[1] == "reportferry":
			args, quiet := strings.CutSuffix(rest, " > /dev/null")
			out, code := m.run(arguments(args))
			if !quiet {
				fmt.Fprintf(&b, "%s(exit %d)\n", out, code)
			} else if code != 0 {
				m.t.Errorf("%s: exit code %d: %s", line, code, out)
			}
		case words[1] == "emulator":
			base, stop := serveEmulator(m.t, words[2:]...)
			m.service, m.stops = &service{url: base}, append(m.stops, stop)
			m.t.Setenv("SERVICE", base)
		case words[1] == "website":
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintln(w, "<!doctype html>\n<html><title>Sign in</title>")
			}))
			m.service, m.stops = &service{url: s.URL}, append(m.stops, s.Close)
			m.t.Setenv("SERVICE", s.URL)
		case words[1] == "faults":
			m.service.admin(m.t, http.MethodPut, "faults", json.RawMessage(rest))
		case words[1] == "rm":
			check(m.t, os.RemoveAll(filepath.Join(m.dir, words[2])))
		case isVariable:
			m.t.Setenv(name, value)
		default:
			m.t.Fatalf("no such step: %s", line)
		}
	}
	return b.String()
}

// run does one command line. Without a server, the clock is that of a bubble, so all of it is the
// same every time.
func (m *mistake) run(args []string) (string, int) {
	var out bytes.Buffer
	var code int
	if m.service != nil {
		code = execute(m.t.Context(), args, &out, &out)
		return strings.ReplaceAll(strings.ReplaceAll(steady(out.String()), m.dir, "/home/you/ferry"), m.service.url,
			"http://127.0.0.1:4000"), code
	}
	synctest.Test(m.t, func(t *testing.T) {
		m.clock++
		time.Sleep(10*365*24*time.Hour + 7*time.Hour + time.Duration(m.clock)*time.Minute)
		code = execute(t.Context(), args, &out, &out)
	})
	return strings.ReplaceAll(steady(out.String()), m.dir, "/home/you/ferry"), code
}

// arguments splits a command line; a word in single quotes may hold blanks.
func arguments(line string) []string {
	var args []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	return args
}

var (
	anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z|\d{8}T\d{6}\.\d{3}Z`)
	anyDay  = regexp.MustCompile(`(20[2-9]\d|2[1-9]\d\d)-\d\d-\d\d`)
	// A totals request that others overtake isn't always sent.
	requestsRow = regexp.MustCompile(`(?m)^  requests    .*$(\n  waits       .*$)?`)
	anyLength   = regexp.MustCompile(`\(\d+(\.\d+)?m?s\)`)
)

// hourless takes out what a session with the real clock has otherwise every time.
func hourless(text string) string {
	before, session, _ := strings.Cut(text, "-- session --\n")
	session = anyTime.ReplaceAllString(session, "TIME")
	session = anyDay.ReplaceAllString(session, "DAY")
	return before + "-- session --\n" + session
}

// twice gives a clause that stands twice in one line: people would look for the difference. A
// clause of one or two words may be a label.
func twice(line string) string {
	seen := map[string]bool{}
	for clause := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(":;\n", r) }) {
		clause = strings.Trim(clause, " .()\"")
		if len(strings.Fields(clause)) < 3 {
			continue
		}
		if seen[clause] {
			return clause
		}
		seen[clause] = true
	}
	return ""
}
