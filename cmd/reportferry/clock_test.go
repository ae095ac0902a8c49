package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/internal/slow"
)

// A clock that is far from the service's ends a run before anything is published or recorded; one
// that is somewhat off is a warning.
func TestAWrongClock(t *testing.T) {
	s := startService(t, "--apps", "1", "--days", "120", "--token", "secret-token-of-the-test")
	var by time.Duration
	shift := func(to time.Duration) { // from where the service's clock is
		s.admin(t, http.MethodPost, "clock", map[string]string{"shift": (to - by).String()})
		by = to
	}
	day := time.Now().UTC().Format(time.DateOnly)
	for _, c := range []struct {
		name   string
		args   []string
		behind time.Duration // of this machine
		code   int
		says   string
	}{
		{"a run", []string{"run"}, 20 * 24 * time.Hour, 1, `"reason":"clock"`},
		{"a run of the future", []string{"run"}, -70 * 24 * time.Hour, 1, " ahead: this machine"},
		{"a backfill", []string{"backfill", "installs", "--from", day, "--to", day}, 2 * time.Hour, 1,
			`"reason":"clock"`},
		{"a check", []string{"check"}, 2 * time.Hour, 1, "service: failed: "},
		{"a run that is warned", []string{"run"}, 10 * time.Minute, 0, " behind"},
		{"a check that is warned", []string{"check"}, 10 * time.Minute, 0, " behind"},
		{"a run that is right", []string{"run"}, time.Minute, 0, "run ended"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, s, 2, 1, living)
			p.edit(t, "kind: report", "kind: report\n    until: today")
			shift(c.behind)
			text, code := p.here(append(c.args, "--log-format", "json")...)
			if code != c.code || !strings.Contains(text, c.says) {
				t.Errorf("exit code %d, want %d and %q: %s", code, c.code, c.says, text)
			}
			if runs, err := filepath.Glob(filepath.Join(p.dir, "ledger/runs/*")); err != nil || c.code != 0 &&
				len(runs)+len(p.files()) > 0 {
				t.Errorf("%d files were published, runs recorded: %v", len(p.files()), runs)
			}
		})
	}
}

// The store of the ledger has a clock too, which is asked also when nothing is due.
func TestTheLedgersClock(t *testing.T) {
	slow.Test(t)
	s := startService(t, "--apps", "1", "--days", "30", "--token", "secret-token-of-the-test")
	c := startCloud(t)
	var ahead time.Duration
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		r.Host = c.addr // by which it tells reads from calls
		c.ServeHTTP(answer, r)
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	t.Cleanup(proxy.Close)
	t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(proxy.URL, "http://"))
	p := newPlace(t, s, 2, 1, living)
	p.edit(t, "file://"+p.dir+"/ledger", "gs://bkt/ledger")
	for _, step := range []struct {
		command string
		ahead   time.Duration
		code    int
		says    string
	}{
		{"run", 30 * 24 * time.Hour, 1, `"reason":"clock"`},
		{"check", -3 * time.Hour, 1, "ledger gs://bkt/ledger: failed: "},
		{"run", 0, 0, "run ended"},
		{"run", -26 * time.Hour, 1, "26h0m"},
		{"run", 10*time.Minute + 30*time.Second, 0, "10m"},
		{"check", 10*time.Minute + 30*time.Second, 0, "the clock of the bucket is "},
	} {
		ahead = step.ahead
		if text, code := p.here(step.command, "--log-format", "json"); code != step.code ||
			!strings.Contains(text, step.says) {
			t.Errorf("%s at %v: exit code %d, want %d and %q: %s", step.command, step.ahead, code, step.code, step.says,
				text)
		}
	}
}

// A folder has no clock; a run that began in the future is still a sign that one was wrong.
func TestARunOfTheFuture(t *testing.T) {
	t.Chdir(t.TempDir())
	check(t, os.WriteFile("reportferry.yml", []byte(commandsConfig), 0o600))
	for _, later := range []time.Duration{30 * 24 * time.Hour, 0} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(later)
			var out bytes.Buffer
			code := execute(t.Context(), []string{"run", "account_events"}, &out, &out)
			if code != 0 || strings.Contains(out.String(),
				"the ledger's last run began at 2000-01-31T00:00:00Z, which is in the future") != (later == 0) {
				t.Errorf("exit code %d: %s", code, &out)
			}
		})
	}
}

// A process that stays looks at the clock with each firing, and is well again when the clock is.
func TestServeByAWrongClock(t *testing.T) {
	dir := served(t)
	t.Chdir(dir)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(10*365*24*time.Hour + 7*time.Hour) // a moment after the schedule has fired
		p := program("c.yml", "text")
		var out bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		e, err := p.Open(t.Context(), p.Logger(&out))
		check(t, err)
		for _, want := range []int{1, 0} {
			server, err := e.Embedded.Server()
			check(t, err)
			server.Shift(time.Duration(2*want-1) * 48 * time.Hour) // away, and back again
			code, refused := runScheduled(t.Context(), cmd, e, []string{"daily"}, func(string, int) {})
			if code == 0 {
				code = text.ExitCode(refused)
			}
			past, err := e.Ledger.Past(t.Context(), 10)
			if check(t, err); code != want || len(past.Runs) != 1-want {
				t.Errorf("exit %d, want %d; %d runs recorded: %v %s", code, want, len(past.Runs), refused, &out)
			}
		}
		check(t, e.Close())
	})
}
