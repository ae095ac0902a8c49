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

// A month of runs that is damaged is warned of by the name of its object, and left out. Nothing
// else is hidden by it, and nothing is said to be fetched again because of it.
func TestADamagedMonthOfRunsBlindsNothing(t *testing.T) {
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
		const name = "runs/2009-12.json"
		for _, c := range []struct {
			args, says string
			code       int
		}{
			{"status", "campaigns_daily: 2009-12-17", 3}, {"status nightly_spend --max-age 1000h",
				"nightly_spend: no run", 3}, {"status networks_total", "no gaps\n", 0},
			{"runs", "No run is recorded yet", 0}, {"runs --job networks_total", "No run of networks_total", 0},
		} {
			check(t, os.WriteFile(filepath.Join("ledger", name), []byte(`{"v":1,"xxh64":"0","content":{}}`+"\n"),
				0o600))
			var out, err bytes.Buffer
			code := execute(t.Context(), strings.Fields(c.args), &out, &err)
			said := err.String()
			if code != c.code || !strings.Contains(out.String(), c.says) {
				t.Errorf("%s: exit code %d, want %d, and %q in\n%s%s", c.args, code, c.code, c.says, &out, said)
			}
			if strings.Count(said, name) != 1 || !strings.Contains(said, "warn ") ||
				strings.Contains(said, "fetched again") {
				t.Errorf("%s: it says\n%s", c.args, said)
			}
		}
	})
}

// A month of runs that is damaged keeps no run from its work and changes no exit code: the log, the
// last lines and the result say that there is no record. The next month is begun as any other.
func TestARunGoesOnWithoutARecord(t *testing.T) {
	s := newShell(t, campaignsJob)
	const name, says = "ledger/runs/2009-12.json", "The ledger has no record of this run: ledger: "
	check(t, os.MkdirAll("ledger/runs", 0o755))
	check(t, os.WriteFile(name, []byte("{}\n"), 0o600))
	s.says("run --result result.json", 0, "written 12", "warn the run goes on without a record", says,
		"no table changes", "!fetched again")
	text, err := os.ReadFile("result.json")
	if check(t, err); !strings.Contains(string(text), `"unrecorded":"ledger: `) ||
		!strings.Contains(string(text), `"exit":0`) {
		t.Errorf("the result is %s", text)
	}
	s.says("run --log-format json", 0, `"message":"the run goes on without a record"`, `"message":"run ended"`,
		"!"+says)
	s.says("runs", 0, "No run is recorded yet", "runs/2009-12.json is damaged")
	check(t, os.Remove(name))
	s.says("run --result result.json", 0, "all is up to date", "!without a record", "!"+says)
	s.says("runs last", 0, "all is up to date")
	check(t, os.WriteFile(name, []byte("{}\n"), 0o600))
	s.clock += 7 * 24 * time.Hour
	s.says("run", 0, "!without a record", "!"+says)
	s.says("runs last", 0, "campaigns", "runs/2009-12.json is damaged")
}
