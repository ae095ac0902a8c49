package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/reportferry/reportferry/internal/slow"
)

// A hook is a webhook that keeps what it is sent.
type hook struct {
	*httptest.Server
	mu  sync.Mutex
	got []string
}

func newHook(t *testing.T, answer http.HandlerFunc) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		h.got = append(h.got, string(text))
		h.mu.Unlock()
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// heard gives the incidents of each message since it was last asked, in short.
func (h *hook) heard(t *testing.T) string {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, text := range h.got {
		var m struct {
			Incidents []struct{ Kind, Job, Reason string }
		}
		check(t, json.Unmarshal([]byte(text), &m))
		var one []string
		for _, i := range m.Incidents {
			one = append(one, i.Kind+" "+i.Reason)
		}
		all = append(all, strings.Join(one, ", "))
	}
	h.got = nil
	return strings.Join(all, " | ")
}

// told is a place that tells a hook of trouble.
func told(t *testing.T, s *service, at string) *place {
	p := newPlace(t, s, 3, 2, racing)
	p.env = []string{"HOOK=" + at + "/hidden-path"}
	p.edit(t, "ledger: file", "console: https://status.example.com\nnotify: [{url: \"${HOOK}\"}]\nledger: file")
	return p
}

// A night that fails is told of once, with what to type, and so is its end; rows that differ, and a
// credential that is refused. Nothing of the address or the token is shown, sent or kept.
func TestTroubleIsToldOfOnce(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s, h := startService(t), newHook(t, nil)
	p := told(t, s, h.URL)
	said, sent := "", ""
	night := func(code int, want string, faults string, args ...string) {
		t.Helper()
		s.admin(t, http.MethodPut, "faults", json.RawMessage(faults))
		out, got := p.run(append([]string{"run"}, args...)...)
		said += out
		h.mu.Lock()
		sent += strings.Join(h.got, "\n")
		h.mu.Unlock()
		if text := h.heard(t); got != code || text != want {
			t.Errorf("exit %d, heard %q, want %d, %q\n%s", got, text, code, want, out)
		}
	}
	bad := `[{"kind": "status", "status": 400, "path": "csv_report", "query": "dimensions=day,app", "every": 1}]`
	night(1, "opened failed", bad)
	night(1, "", bad)
	night(0, "resolved failed", "[]")
	night(0, "", "[]")
	night(3, "opened held_back",
		`[{"kind": "halve", "path": "csv_report", "column": "installs", "query": "dimensions=day,app", "every": 1}]`,
		"--force")
	night(5, "opened denied", `[{"kind": "status", "status": 403, "path": "csv_report", "every": 1}]`, "--force")
	night(0, "resolved denied, resolved held_back", "[]", "--force")
	for _, has := range []string{"reportferry backfill installs --gaps", "https://status.example.com",
		"installs: an answer is held back"} {
		if !strings.Contains(sent, has) {
			t.Errorf("no message has %s", has)
		}
	}
	out, code := p.run("notify", "--test")
	if text := h.heard(t); code != 0 || out != "notify[0] ${HOOK}: sent\n" || text != "resolved failed" {
		t.Errorf("a test: %d %s %s", code, out, text)
	}
	h.Close()
	out, code = p.run("notify", "--test")
	if code != 1 || !strings.Contains(out, "notify[0] ${HOOK}: failed: ") {
		t.Errorf("a test that fails: %d %s", code, out)
	}
	for _, secret := range []string{"hidden-path", p.token} {
		if strings.Contains(said+out, secret) || strings.Contains(sent, secret) || p.inLedger(secret) {
			t.Errorf("%s is shown, sent or kept", secret)
		}
	}
}

// A hook that refuses, sends elsewhere or repeats what it gets changes no exit code.
func TestAHookThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	s := startService(t)
	s.admin(t, http.MethodPut, "faults",
		json.RawMessage(
			`[{"kind": "status", "status": 400, "path": "csv_report", "query": "dimensions=day,app", "every": 1}]`))
	elsewhere := newHook(t, nil)
	for name, answer := range map[string]http.HandlerFunc{
		"refuses": func(w http.ResponseWriter, r *http.Request) { http.Error(w, r.URL.String(), http.StatusForbidden) },
		"sends on": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"repeats": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = fmt.Fprint(w, r.URL, r.Header)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHook(t, answer)
			p := told(t, s, h.URL)
			out, code := p.run("run", "--log-format", "json")
			if code != 1 || !strings.Contains(out, "people could not be told") ||
				strings.Contains(out, "hidden-path") || p.inLedger("hidden-path") {
				t.Errorf("exit %d: %s", code, out)
			}
		})
	}
	t.Cleanup(func() {
		if text := elsewhere.heard(t); text != "" {
			t.Errorf("a message went astray: %s", text)
		}
	})
}

// Eight processes that meet the same trouble at the same time tell of it once.
func TestEightProcessesTellOnce(t *testing.T) {
	t.Parallel()
	s, h := startService(t), newHook(t, nil)
	s.admin(t, http.MethodPut, "faults",
		json.RawMessage(
			`[{"kind": "status", "status": 400, "path": "csv_report", "query": "dimensions=day,app", "every": 1}]`))
	p := told(t, s, h.URL)
	var wg sync.WaitGroup
	for range 8 {
		cmd, _ := p.command(t.Context(), "run")
		wg.Go(func() { _ = cmd.Run() })
	}
	wg.Wait()
	if text := h.heard(t); strings.Count(text, "opened") != 1 || strings.Count(text, "resolved") != 0 {
		t.Errorf("heard %q", text)
	}
}
