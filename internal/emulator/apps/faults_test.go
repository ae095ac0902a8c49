package apps_test

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

// Each fault on each of the fifteen routes: what is answered, and whether it was done.
func TestAutomationFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault emulator.Fault
		want  string // the answer's beginning
		done  bool
		waits time.Duration
	}{
		{emulator.Fault{Kind: emulator.FaultStatus, Status: 500},
			`500  {"error_code":"service_error","error_desc":"Internal Server Error (scripted)"}`, false, 0},
		{emulator.Fault{Kind: emulator.FaultStatus, Status: 429, RetryAfter: 3},
			`429 3 {"error_code":"request_error","error_desc":"Too Many Requests (scripted)"}`, false, 0},
		{emulator.Fault{Kind: emulator.FaultStatus, Status: 503}, `503  {"error_code":"service_error"`, false, 0},
		{emulator.Fault{Kind: emulator.FaultStatus, Status: 401}, `401  {"error_code":"auth_error"`, false, 0},
		{emulator.Fault{Kind: emulator.FaultStatus, Status: 422}, `422  {"error_code":"validation_error"`, false, 0},
		{emulator.Fault{Kind: emulator.FaultLost}, "broken", true, 0},
		{emulator.Fault{Kind: emulator.FaultLost, Status: 504},
			`504  {"error_code":"service_error","error_desc":"Gateway Timeout (scripted)"}`, true, 0},
		{emulator.Fault{Kind: emulator.FaultReset}, "broken", false, 0},
		{emulator.Fault{Kind: emulator.FaultCut, AfterBytes: 1}, "200 ", true, 0},
		{emulator.Fault{Kind: emulator.FaultEmpty}, "200  ", true, 0},
		{emulator.Fault{Kind: emulator.FaultHTML}, "200  <!doctype html>", false, 0},
		{emulator.Fault{Kind: emulator.FaultSlow, Delay: time.Hour}, "200  ", true, time.Hour},
	} {
		file := filepath.Join(t.TempDir(), "facts.db")
		synctest.Test(t, func(t *testing.T) {
			s, err := emulator.New(emulator.Options{Apps: 1, Days: 2, Latency: time.Second, DB: file})
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range everyCall(prepared(t, s)) {
				if one.path == "app" {
					one.body = garden("store_id", "com.second")
				}
				what := fmt.Sprintf("%s %s, %s", one.method, one.path, c.fault.String())
				before := stateOf(t, file)
				path, _, _ := strings.Cut("/app-automation/"+one.path, "?")
				c.fault.Path = path
				s.SetFaults([]emulator.Fault{c.fault})
				start := time.Now()
				got := overClient(t, s, one.method, one.path, one.body)
				broken := strings.HasSuffix(got, ", broken")
				if !strings.HasPrefix(got, c.want) || broken != (c.fault.Kind == emulator.FaultCut) {
					t.Errorf("%s: %.120s", what, got)
				}
				if c.waits > 0 && time.Since(start) != c.waits+time.Second {
					t.Errorf("%s: after %v", what, time.Since(start))
				}
				if log := s.Requests(); log[len(log)-1].Fault != c.fault.String() {
					t.Errorf("%s: log %+v", what, log[len(log)-1])
				}
				// Which finds nothing outdated here.
				changes := one.method != "GET" && !strings.HasSuffix(one.path, "/revoke_outdated")
				if changed := stateOf(t, file) != before; changed != (c.done && changes) {
					t.Errorf("%s: done %t", what, changed)
				}
				if got := overClient(t, s, one.method, one.path, one.body); !strings.HasPrefix(got, "200  ") ||
					strings.HasSuffix(got, ", broken") {
					t.Errorf("%s: afterwards %.120s", what, got)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// stateOf is all that app automation keeps in a file.
func stateOf(t *testing.T, file string) (out string) {
	t.Helper()
	emutest.Scan(t, file,
		`SELECT (SELECT group_concat(record) FROM account_apps) || (SELECT count(*) FROM tickets) || (SELECT count(*) FROM vault)`, &out)
	return out
}

// overClient sends over a connection: status, Retry-After and body, or "broken".
func overClient(t *testing.T, s *emulator.Server, method, path string, body any) string {
	t.Helper()
	text := ""
	if body != nil {
		text = asJSON(t, body)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://x/app-automation/"+path, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer x")
	resp, err := s.Client().Do(r)
	if err != nil {
		return "broken"
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	out := fmt.Sprintf("%d %s %s", resp.StatusCode, resp.Header.Get("Retry-After"), answer)
	if err != nil {
		out += ", broken"
	}
	return out
}
