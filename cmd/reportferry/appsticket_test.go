package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
)

const oneApp = `apps:
  - name: Puzzle Quest
    bundle_id: com.example.puzzle
    store_id: com.example.puzzle
    platform: android
    additional_stores: {huawei: C1000}
    channel_setup: {facebook: {app_id: 1}}
`

const puzzle = "android/com.example.puzzle"

// A migration whose end nobody sees is waited for as long as the config says and no longer;
// --new-ticket asks for another at once.
func TestAppsNewTicket(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for status, c := range map[string]struct {
		code int
		says string
	}{
		"lower": {1, `its status is "new"`},      // known for a job that isn't over: the next run looks again
		"words": {0, `status is still "queued"`}, // unknown: the app is compared, and is as declared
	} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			p, server := newAppsPlace(t, emulator.Options{TicketStep: -1,
				Readings: []string{"ticket-status=" + status, "ticket-unknown=kept", "ticket-idle=newest"}}, 2, oneApp)
			config, err := os.ReadFile(p.dir + "/reportferry.yml")
			check(t, err)
			check(t, os.WriteFile(p.dir+"/reportferry.yml",
				[]byte(strings.Replace(string(config), "ticket_wait: 20s", "ticket_wait: 1s", 1)), 0o600))
			began := time.Now()
			if out, code := p.run("apps", "apply"); code != c.code || !strings.Contains(unfolded(out), c.says) ||
				jobsOf(t, server) != 1 {
				t.Errorf("%s: exit code %d: %s", status, code, out)
			}
			for i := range 2 { // more than once, when a person insists
				out, code := p.run("apps", "apply", "--new-ticket", puzzle)
				if code != c.code || !strings.Contains(unfolded(out), c.says) || jobsOf(t, server) != i+2 {
					t.Errorf("%s: exit code %d, %d jobs: %s", status, code, jobsOf(t, server), out)
				}
			}
			if out, code := p.run("apps", "apply", "--new-ticket", "ios/1"); code != 2 ||
				!strings.Contains(out, `declares no app "ios/1"`) {
				t.Errorf("%s: exit code %d: %s", status, code, out)
			}
			time.Sleep(1100 * time.Millisecond) // ticket_wait is over: nobody waits again
			if out, code := p.run("apps", "apply"); code != 0 || jobsOf(t, server) != 3 {
				t.Errorf("%s: exit code %d, %d jobs: %s", status, code, jobsOf(t, server), out)
			}
			if out, code := p.run("apps", "apply"); code != 0 || !strings.Contains(out, "unchanged 1,") {
				t.Errorf("%s: exit code %d: %s", status, code, out)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%s: it took %v", status, took)
			}
		})
	}
}

// apps get finds an app in another store, as far as the service's reading of the ID goes, and says
// what isn't there.
func TestAppsGetStore(t *testing.T) {
	for _, c := range []struct{ reading, found, absent string }{
		{"default-id", puzzle, "android/C1000"}, {"store-id", "android/C1000", puzzle},
	} {
		p, server := newAppsPlace(t, emulator.Options{Readings: []string{"store-filter=" + c.reading,
			"app-absent=400"}}, 2, oneApp)
		if out, code := p.here("apps", "apply"); code != 0 {
			t.Fatalf("exit code %d: %s", code, out)
		}
		before := len(server.Requests())
		if out, code := p.here("apps", "get", c.found, "--store", "huawei"); code != 0 ||
			!strings.Contains(out, `"store_id": "com.example.puzzle"`) {
			t.Errorf("%s: exit code %d: %s", c.reading, code, out)
		}
		for _, absent := range [][2]string{{c.absent, "huawei"}, {c.found, "amazon"}} {
			if out, code := p.here("apps", "get", absent[0], "--store", absent[1]); code != 1 ||
				!strings.Contains(out, "it isn't there") {
				t.Errorf("%s: %v: exit code %d: %s", c.reading, absent, code, out)
			}
		}
		if n := len(server.Requests()) - before; n != 3 {
			t.Errorf("%s: %d requests", c.reading, n)
		}
		for _, args := range [][]string{{"abc123def456", "--store", "huawei"}, {"windows/1", "--store", "huawei"},
			{"android/a?b=1", "--store", "huawei"}, {puzzle, "--store", "a/b"}} {
			if out, code := p.here(append([]string{"apps", "get"}, args...)...); code != 2 ||
				len(server.Requests())-before != 3 {
				t.Errorf("%v: exit code %d: %s", args, code, out)
			}
		}
	}
}

// What isn't there is said in words that are true of it: settings are those of any app, however it
// was made.
func TestAppsAbsentText(t *testing.T) {
	p, _ := newAppsPlace(t, emulator.Options{Readings: []string{"app-absent=400", "error-body=model"}}, 2, oneApp)
	for args, managed := range map[string]bool{"apps settings nosuchapp123": false, "apps status nosuchticket": false,
		"apps get nosuchapp123": true} {
		out, code := p.here(strings.Fields(args)...)
		if code != 1 || !strings.Contains(out, "it isn't there") ||
			strings.Contains(out, "wasn't made through app automation") != managed {
			t.Errorf("%s: exit code %d: %s", args, code, out)
		}
	}
}

// Apps that are declared by their tokens, from the plan to the second run: an unknown one is told,
// and stops no other.
func TestAppsByTokenText(t *testing.T) {
	p, server := newAppsPlace(t, emulator.Options{Readings: []string{"app-absent=400", "error-body=model",
		"update-answer=created", "ticket-unknown=kept", "ticket-status=lower", "ticket-idle=newest"}}, 2, oneApp)
	token := server.Apps()[0].Token
	check(t, os.WriteFile(p.dir+"/apps.yaml", []byte("apps:\n  - {token: "+token+", name: Renamed}\n  - {token: "+
		"nosuchapp123, name: Ghost}\n"), 0o600))
	for _, s := range []struct {
		name, args string
		code       int
	}{
		{"plan", "apps plan", 0}, {"apply", "apps apply", 3}, {"again", "apps apply token/" + token, 0},
		{"plan-again", "apps plan token/" + token, 0}, {"status", "apps status", 0},
	} {
		out, code := p.here(strings.Fields(s.args)...)
		if code != s.code {
			t.Errorf("%s: exit code %d: %s", s.args, code, out)
		}
		// The log.
		said := regexp.MustCompile(`(?m)^\S+ (warn|error) .*\n(    .*\n)*`).ReplaceAllString(steadyApps(p, out, ""), "")
		// Apps end in any order.
		said = regexp.MustCompile(`(?m)^(token/\S+: changed\n)(token/nosuchapp123: failed\n)`).ReplaceAllString(said,
			"$2$1")
		golden(t, "apps-token-"+s.name, strings.ReplaceAll("$ reportferry "+wrapped(s.args)+said, token,
			"abc123def456"))
	}
	check(t, os.WriteFile(p.dir+"/apps.yaml", []byte("apps:\n  - {token: "+token+", store_id: com.example.puzzle, "+
		"platform: android}\n"), 0o600))
	if out, code := p.here("apps", "plan"); code != 2 || !strings.Contains(out, "not by both") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
