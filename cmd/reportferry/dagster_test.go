package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A step that can't be told how the process ends has failed, with the code of a failure and not of
// a wrong config.
func TestAStepThatIsGoneAtTheEnd(t *testing.T) {
	t.Parallel()
	p := newPlace(t, startService(t), 2, 2, racing)
	folder := filepath.Join(p.dir, "pipes")
	check(t, os.Mkdir(folder, 0o755))
	last := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var e struct{ EventType string }
		if json.NewDecoder(r.Body).Decode(&e) == nil && e.EventType == "COMPLETE" {
			_ = os.RemoveAll(folder) // after the step was told what became of the run
		}
	}))
	t.Cleanup(last.Close)
	p.env = []string{
		"OPENLINEAGE_URL=" + last.URL,
		"DAGSTER_PIPES_CONTEXT=" + packed(t,
			map[string]any{"data": map[string]any{"asset_keys": []string{"installs"}}}),
		"DAGSTER_PIPES_MESSAGES=" + packed(t, map[string]any{"path": filepath.Join(folder, "messages")}),
	}
	if out, code := p.run("run"); code != 1 || !strings.Contains(out, folder) {
		t.Errorf("exit %d: %s", code, out)
	}
}
