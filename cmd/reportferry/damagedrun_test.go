package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A run whose record is damaged is warned of by the name of its object, and left out. Nothing else is hidden by it, and nothing is said
// to be fetched again because of it.
func TestADamagedRunBlindsNothing(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	check(t, os.WriteFile("reportferry.yml", []byte(historyConfig), 0o600))
	writeHistory(t, filepath.Join(dir, "ledger"))
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(10*365*24*time.Hour + 7*time.Hour)
		var ran bytes.Buffer
		if code := execute(t.Context(), []string{"run", "networks_total"}, &ran, &ran); code != 0 {
			t.Fatalf("exit code %d: %s", code, &ran)
		}
		const name = "runs/20091229T230000.000Z-00000000.json"
		for _, c := range []struct {
			args, says string
			code       int
		}{
			{"status", "campaigns_daily: 2009-12-17", 3}, {"status nightly_spend --max-age 1000h", "nightly_spend: no run", 3}, {"gaps networks_total", "networks_total: no gaps", 0},
			{"runs", "networks_total", 0}, {"runs last", "networks_total", 0}, {"runs --job networks_total", "networks_total", 0},
		} {
			check(t, os.WriteFile(filepath.Join("ledger", name), []byte(`{"v":1,"xxh64":"0","content":{}}`+"\n"), 0o600))
			var out, err bytes.Buffer
			code := execute(t.Context(), strings.Fields(c.args), &out, &err)
			said := err.String()
			if code != c.code || !strings.Contains(out.String(), c.says) {
				t.Errorf("%s: exit code %d, want %d, and %q in\n%s%s", c.args, code, c.code, c.says, &out, said)
			}
			if strings.Count(said, name) != 1 || !strings.Contains(said, "warn ") || strings.Contains(said, "fetched again") {
				t.Errorf("%s: it says\n%s", c.args, said)
			}
		}
	})
}
