package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reportferry/reportferry/internal/slow"
)

const commandsConfig = `
service: embedded
ledger: file://./ledger
spool_dir: spool
jobs:
  - name: campaigns_daily
    kind: report
    schedule: "0 6 * * *"
    sinks: [file://./out]
    start: -12d
    lookback: 2
    codec: snappy
    currency: USD
    dimensions: [day, app_token, network]
    metrics: [installs, cost, ecpi_all]
  - name: networks_total
    kind: report
    sinks: [file://./out]
    start: -12d
    codec: snappy
    currency: USD
    dimensions: [network]
    metrics: [installs, installs_per_mile, roas]
  - name: account_events
    kind: events
    sinks: [file://./out]
    codec: snappy
`

var runID = regexp.MustCompile(`(\d{8}T\d{6}\.\d{3}Z)-[0-9a-f]{8}`)

// What people see of every command, one after the other in one folder: the clock is the bubble's,
// so all of it is the same every time.
func TestCommandsText(t *testing.T) {
	slow.Test(t)
	dir := wideFolder(t)
	check(t, os.WriteFile("reportferry.yml", []byte(commandsConfig), 0o600))
	type step struct {
		name   string
		args   string
		code   int
		before func()
	}
	part := filepath.Join(dir, "out/campaigns_daily/dt=2009-12-24/part-0.parquet")
	for i, s := range []step{
		{"plan-first", "plan", 0, nil},
		{"status-first", "status --max-age 26h", 3, nil},
		{"run-first", "run", 0, nil},
		{"run-again", "run", 0, nil},
		{"status-fresh", "status --max-age 26h", 0, nil},
		{"check", "check", 0, nil},
		{"check-live", "check --live --seed 1", 0, nil},
		{"check-missing", "check campaigns_daily", 3, func() {
			check(t, os.Rename(part, filepath.Join(filepath.Dir(part), "copy.parquet")))
		}},
		{"backfill-force", "backfill campaigns_daily --from 2009-12-24 --to 2009-12-24 --force", 0, nil},
		{"check-stranger", "check campaigns_daily", 3, nil},
		{"check-mended", "check campaigns_daily", 0,
			func() { check(t, os.Remove(filepath.Join(filepath.Dir(part), "copy.parquet"))) }},
		{"rebaseline-refused", "run campaigns_daily", 2, change(t, "currency: USD\n    dimensions: [day",
			"currency: EUR\n    dimensions: [day")},
		{"status-failed", "status campaigns_daily", 3, nil},
		{"rebaseline", "run campaigns_daily --rebaseline", 0, nil},
		{"missing-columns", "backfill campaigns_daily --missing-columns", 0,
			change(t, "ecpi_all]", "ecpi_all, clicks]")},
		{"status-earlier", "status campaigns_daily", 3, change(t, "start: -12d\n    lookback: 2",
			"start: -15d\n    lookback: 2")},
		{"backfill-gaps", "backfill campaigns_daily --gaps", 0, nil},
		{"events", "events --search level", 0, nil},
		{"report-table", "report --dimensions network,os_name --metrics installs,cost,ctr --currency USD --filter " +
			"installs__gt=2000 --sort -cost --format table", 0, nil},
		{"report-csv", "report --dimensions day,os_name --metrics installs,cost --date-period -2d:-1d --currency " +
			"EUR --readable-names", 0, nil},
		{"report-jsonl", "report --dimensions campaign --metrics installs,cost --date-period yesterday --sort " +
			"-installs --filter campaign__contains=sale --format jsonl", 0, nil},
		{"report-none", "report --dimensions day --metrics installs --date-period 2001-01-01:2001-01-02", 0, nil},
		{"report-refused", "report --dimensions day --metrics instals", 1, nil},
		{"version", "version", 0, nil},
		{"config-show", "config show campaigns_daily", 0, nil},
		{"config-json", "config show account_events --json", 0, nil},
		{"runs", "runs", 0, nil},
		{"runs-last", "runs last", 0, nil},
		{"runs-failed", "runs 20091229T0711 -n 1", 0, nil},
		{"runs-many", "runs 20091229T07", 2, nil},
		{"runs-unknown", "runs 2010", 2, nil},
		{"runs-job", "runs --job account_events -n 1", 0, nil},
		{"changes-rebaselined", "changes campaigns_daily", 0, nil},
		{"version-json", "version --json", 0, nil},
	} {
		if s.before != nil {
			s.before()
		}
		t.Run(s.name, func(t *testing.T) {
			var out, err bytes.Buffer
			synctest.Test(t, func(t *testing.T) {
				// From a midnight of 2000 to a morning of 2009, a minute later for each command.
				time.Sleep(10*365*24*time.Hour + 7*time.Hour + time.Duration(i)*time.Minute)
				if code := execute(t.Context(), strings.Fields(s.args), &out, &err); code != s.code {
					t.Errorf("exit code %d, want %d: %s%s", code, s.code, &out, &err)
				}
			})
			if strings.HasPrefix(s.args, "version") && withIceberg {
				s.name += "-iceberg"
			}
			text := steady(err.String() + out.String())
			if s.args == "run" {
				// The list of apps is counted for the job that needs it first.
				text = requests.ReplaceAllString(text, "requests    7, retries")
			}
			golden(t, "command-"+s.name, "$ reportferry "+wrapped(s.args)+text)
		})
	}
}

// wideFolder changes to a new folder and returns its path. The path is longer than a line, so that
// texts break at the same places wherever temporary folders are.
func wideFolder(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), strings.Repeat("wide", 20))
	check(t, os.Mkdir(dir, 0o700))
	t.Chdir(dir)
	return dir
}

// steady takes out what differs from run to run: the time of day, which is of this machine's zone,
// the end of a run's ID, the room on the disk, the test's folder, and the lines of units, whose
// order isn't said.
func steady(text string) string {
	var b strings.Builder
	text = logTime.ReplaceAllString(stampOfRun.ReplaceAllString(text, "$1 1f2e3d4c "), "07:00:00 $1 ")
	text = freeSpace.ReplaceAllString(runID.ReplaceAllString(text, "$1-1f2e3d4c"), "12.34 GB free")
	text = testFolder.ReplaceAllString(text, "/home/me")
	for line := range strings.Lines(text) {
		if !unitLine.MatchString(line) {
			b.WriteString(line)
		}
	}
	return b.String()
}

var (
	stampOfRun = regexp.MustCompile(`(?m)^(\d\d:\d\d:\d\d) [0-9a-f]{8} `)
	testFolder = regexp.MustCompile(`/[^\s"]*/Test[A-Za-z]+\d+/\d{3}(/(wide)+)?\b`)
	freeSpace  = regexp.MustCompile(`[0-9.]+ [kMG]?B free`)
	requests   = regexp.MustCompile(`requests    [0-9]+, retries`)
	logTime    = regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d (debug|info|warn|error) `)
)

var unitLine = regexp.MustCompile(`^(\d\d:\d\d:\d\d \S+ )?\S+  .*  \d+/\d+  `)

// wrapped breaks a command line as people do.
func wrapped(args string) string {
	width := len("$ reportferry ")
	var b strings.Builder
	for _, word := range strings.Fields(args) {
		if width += len(word) + 1; width > 76 {
			b.WriteString("\\\n    ")
			width = 4 + len(word) + 1
		}
		b.WriteString(word + " ")
	}
	return strings.TrimSpace(b.String()) + "\n"
}

// change edits the config.
func change(t *testing.T, before, after string) func() {
	return func() {
		data, err := os.ReadFile("reportferry.yml")
		check(t, err)
		if !strings.Contains(string(data), before) {
			t.Fatalf("the config has no %q", before)
		}
		check(t, os.WriteFile("reportferry.yml", []byte(strings.Replace(string(data), before, after, 1)), 0o600))
	}
}
