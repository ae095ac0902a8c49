package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/slow"
)

// Spend of networks arrives for 14 days, and these jobs take it for final after two.
const driftConfig = `
service: embedded
ledger: file://./ledger
spool_dir: spool
jobs:
  - &spend
    name: spend_daily
    kind: report
    schedule: "0 6 * * *"
    sinks: [file://./out]
    start: -12d
    lookback: 1
    final_after: 2d
    drift: warn
    codec: snappy
    currency: USD
    dimensions: [day, network]
    metrics: [installs, network_cost]
  - <<: *spend
    name: spend_followed
    drift: 90d
  - name: installs_daily
    kind: report
    schedule: "0 6 * * *"
    sinks: [file://./out]
    start: -12d
    lookback: probe
    drift: off
    codec: snappy
    currency: USD
    dimensions: [day, network]
    metrics: [installs, clicks]
`

var oneRequest = regexp.MustCompile(`requests    [45]\b`)

// What people see when days move that were final, and when totals spare fetches, night after night.
func TestDriftText(t *testing.T) {
	slow.Test(t)
	t.Chdir(t.TempDir())
	check(t, os.WriteFile("reportferry.yml", []byte(driftConfig), 0o600))
	for i, s := range []struct {
		name, args  string
		night, code int
	}{
		{"first", "run", 0, 0},
		{"plan", "plan spend_daily", 1, 0},
		{"warn", "run spend_daily", 1, 3},
		{"warn-status", "status spend_daily", 1, 3},
		{"moved", "run spend_followed", 1, 0},
		{"moved-status", "status spend_followed", 1, 0},
		{"probe-plan", "plan installs_daily", 1, 0},
		{"probe", "run installs_daily", 1, 0},
	} {
		t.Run(s.name, func(t *testing.T) {
			var out, err bytes.Buffer
			synctest.Test(t, func(t *testing.T) {
				time.Sleep((10*365+time.Duration(s.night))*24*time.Hour + 7*time.Hour + time.Duration(i)*time.Minute)
				if code := execute(t.Context(), strings.Fields(s.args), &out, &err); code != s.code {
					t.Errorf("exit code %d, want %d", code, s.code)
				}
			})
			log := strings.ReplaceAll(err.String(), " job=", "\n  job=") // a line of the log is wider than a terminal
			// Whichever of the jobs comes first asks for the list of apps.
			if s.args == "run" {
				log, out = oneRequest.ReplaceAllString(log, "requests    n"),
					*bytes.NewBufferString(oneRequest.ReplaceAllString(out.String(), "requests    n"))
			}
			golden(t, "drift-"+s.name, "$ reportferry "+wrapped(s.args)+steady(strings.ReplaceAll(log, " difference=",
				"\n  difference=\n    ")+out.String()))
		})
	}
}
