package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// The watcher that the config names hears of every run: of those that go well or badly, of one that
// could not begin, and of each of serve's. Its address is in no output, and in nothing of the
// ledger.
func TestTheHeartbeatOfRuns(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var list []string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, strings.TrimPrefix(r.URL.Path, "/uuid-of-the-watcher"))
	}))
	t.Cleanup(s.Close)
	heard := func() string {
		mu.Lock()
		defer mu.Unlock()
		text := strings.Join(list, " ")
		list = nil
		return text
	}
	p := newPlace(t, startService(t), 2, 2, racing)
	p.env = []string{"WATCHER=" + s.URL + "/uuid-of-the-watcher"}
	p.edit(t, "ledger: file", "heartbeat: ${WATCHER}\nledger: file")
	said := ""
	run := func(code int, want string, args ...string) {
		t.Helper()
		out, got := p.run(args...)
		said += out
		if text := heard(); got != code || text != want {
			t.Errorf("%v: exit %d, heard %q, want %d, %q\n%s", args, got, text, code, want, out)
		}
	}
	run(0, "/start ", "run")
	run(0, "", "status")
	run(0, "", "config", "show")
	token := p.token
	p.token = ""
	run(2, "/start /2", "run")
	p.token = token
	check(t, os.Rename(p.dir+"/ledger", p.dir+"/moved"))
	check(t, os.WriteFile(p.dir+"/ledger", nil, 0o600)) // no folder, so that the ledger can't be opened
	out, code := p.run("run")
	said += out
	if text := heard(); code == 0 || !strings.HasPrefix(text, "/start /") {
		t.Errorf("without a ledger: exit %d, heard %q\n%s", code, text, out)
	}
	check(t, os.Remove(p.dir+"/ledger"))
	check(t, os.Rename(p.dir+"/moved", p.dir+"/ledger"))
	p.env = append(p.env, "CLOUD_RUN_EXECUTION=", "JOB_COMPLETION_INDEX=1", "REPORTFERRY_TASK_COUNT=2",
		"REPORTFERRY_EXECUTION=x")
	run(0, "", "run", "--force")
	p.env = p.env[:1]
	p.edit(t, "    lookback: 0", "    lookback: 0\n    schedule: '0 6 * * *'")
	cmd, shown := p.command(t.Context(), "serve", "--listen", "")
	check(t, cmd.Start())
	var text string
	for range 200 {
		if text += heard(); text != "" && strings.HasSuffix(text, " ") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	check(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
	said += shown.String()
	if !strings.HasPrefix(text, "/start") {
		t.Errorf("of serve it heard %q\n%s", text, shown)
	}
	if strings.Contains(said, "uuid-of-the-watcher") || p.inLedger("uuid-of-the-watcher") {
		t.Errorf("the address is shown, or in the ledger:\n%s", said)
	}
}
