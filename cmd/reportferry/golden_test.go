package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/cmd/reportferry/wire"
	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
)

var update = flag.Bool("update", false, "write the golden files anew")

// testdata is found from any folder.
var testdata = func() string {
	path, err := filepath.Abs("testdata")
	if err != nil {
		panic(err)
	}
	return path
}()

// golden compares what people read with a file, and with the width of a terminal.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = logTime.ReplaceAllString(got, "07:00:00 $1 ")
	path := filepath.Join(testdata, name+".txt")
	if *update {
		check(t, os.MkdirAll(testdata, 0o755))
		check(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	check(t, err)
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant:\n%s", path, got, want)
	}
	logged := false // the line is of the log
	for line := range strings.Lines(got) {
		if strings.HasSuffix(name, "-fingerprint") {
			break // where it is folded depends on the address of a server
		}
		most := 80
		if logged = logTime.MatchString(line) || logged && strings.HasPrefix(line, "    "); logged {
			most = wire.Width
		}
		// The last is JSON.
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > most &&
			strings.Contains(strings.TrimSpace(line), " ") && !strings.HasPrefix(line, "reportferry: ") &&
			!strings.Contains(line, "error: ") && !strings.Contains(line, "error in run ") &&
			!strings.Contains(line, "error.type=") && !strings.HasPrefix(line, `    "`) {
			t.Errorf("%d characters wide: %s", n, line)
		}
	}
}

// unfolded is a text without the ends of its lines.
func unfolded(text string) string { return strings.Join(strings.Fields(text), " ") }

// program is what commands are given, with these flags.
func program(configFile, logFormat string) *wire.Program {
	p := newProgram()
	p.ConfigFile, p.LogFormat, p.LogLevel = configFile, logFormat, "info"
	return p
}

func TestHelp(t *testing.T) {
	for name, args := range map[string][]string{
		"help": {"--help"}, "help-init": {"init", "--help"}, "help-run": {"run", "--help"},
		"help-backfill": {"backfill", "--help"}, "help-replay": {"replay", "--help"}, "help-diff": {"diff", "--help"},
		"help-plan": {"plan", "--help"}, "help-notify": {"notify", "--help"}, "help-status": {"status", "--help"},
		"help-emulator": {"emulator", "--help"}, "help-engagements": {"emulator", "engagements", "--help"},
		"help-spend": {"spend", "--help"}, "help-spend-push": {"spend", "push", "--help"},
		"help-spend-check": {"spend", "check", "--help"},
		"help-spend-init":  {"spend", "init", "--help"}, "help-spend-status": {"spend", "status", "--help"},
		"help-spend-reconcile": {"spend", "reconcile", "--help"}, "help-spend-requeue": {"spend", "requeue", "--help"},
		"help-apps": {"apps", "--help"}, "help-apps-plan": {"apps", "plan", "--help"},
		"help-apps-apply":  {"apps", "apply", "--help"},
		"help-apps-status": {"apps", "status", "--help"}, "help-apps-list": {"apps", "list", "--help"},
		"help-apps-get":      {"apps", "get", "--help"},
		"help-apps-settings": {"apps", "settings", "--help"}, "help-apps-export": {"apps", "export", "--help"},
		"help-apps-events":    {"apps", "events", "--help"},
		"help-apps-signature": {"apps", "signature", "--help"}, "help-apps-secrets": {"apps", "secrets", "--help"},
		"help-apps-revoke-outdated": {"apps", "secrets", "revoke-outdated", "--help"},
		"help-apps-revoke":          {"apps", "secrets", "revoke", "--help"},
		"help-apps-reactivate":      {"apps", "secrets", "reactivate", "--help"},
		"help-apps-vault":           {"apps", "vault", "--help"},
		"help-apps-vault-list":      {"apps", "vault", "list", "--help"},
		"help-apps-vault-put": {"apps", "vault", "put",
			"--help"},
		"help-sharing": {"sharing", "--help"}, "help-sharing-push": {"sharing", "push", "--help"},
		"help-sharing-check":  {"sharing", "check", "--help"},
		"help-sharing-status": {"sharing", "status", "--help"}, "help-sharing-requeue": {"sharing", "requeue",
			"--help"}, "help-sharing-explain": {"sharing", "explain", "--help"},
		"help-runs": {"runs", "--help"}, "help-config": {"config", "--help"},
		"help-config-show": {"config", "show", "--help"}, "help-history": {"history", "--help"},
		"help-changes": {"changes", "--help"}, "help-check": {"check", "--help"}, "help-serve": {"serve", "--help"},
		"help-events": {"events", "--help"},
		"help-report": {"report", "--help"}, "help-fields": {"fields", "--help"}, "help-views": {"views", "--help"},
		"help-dbt": {"dbt", "--help"}, "help-schema": {"schema", "--help"}, "help-completion": {"completion", "--help"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if code := execute(t.Context(), args, &out, &out); code != 0 {
				t.Errorf("exit code %d", code)
			}
			golden(t, name, out.String())
		})
	}
}

func TestSummary(t *testing.T) {
	var out bytes.Buffer
	d := newDisplay(program("", "text"), &out, &out)
	cut := errors.New("fetch installs/2026-01-08: csv_report 2026-01-08:2026-01-08: 503 Service Unavailable after 8 " +
		"attempts")
	d.summary(ledger.Run{Exit: jobs.ExitSome, Results: []ledger.Result{
		{Job: "campaigns_daily", Took: 3217 * time.Millisecond, Outcome: ledger.Outcome{
			Windows: 9, Written: 60, Requests: 10, Limiter: 1250 * time.Millisecond, Rows: 1_021_144,
			CSVBytes:     5_120_000_000,
			ParquetBytes: 1_204_000,
		}},
		{Job: "networks_weekly", Took: 40 * time.Millisecond},
		{Job: "nightly_spend", Took: 40 * time.Millisecond, Outcome: ledger.Outcome{Windows: 3, Waiting: 3,
			Due: time.Date(2026, 1, 31, 6, 5, 0, 0, time.UTC)}},
		{Job: "partners_monthly", Took: 95 * time.Minute, Outcome: ledger.Outcome{
			Windows: 12, Held: 2, Written: 3, Unchanged: 4, Empty: 1, Kept: 1, Failed: 2, Unreconciled: 2, Unkept: 3,
			Requests: 31, Retries: 20,
			Limiter: 61 * time.Second, Backoff: 90 * time.Second, Rows: 999, Rounded: 1200, Nulls: 3, CSVBytes: 999,
			ParquetBytes: 45_300,
		}, Errs: []error{cut, errors.Join(cut, errors.New("put installs/2026-01-09: disk full"))}},
	}})
	golden(t, "summary", out.String())
}

func TestLines(t *testing.T) {
	var out bytes.Buffer
	d := newDisplay(program("", "text"), &out, &out)
	show := func(o ledger.Outcome, err error) {
		o.Windows = 1
		d.progress(jobs.Progress{Job: "campaigns_daily", Units: 7, Unit: "2026-01-04", Result: &o, Err: err})
	}
	d.progress(jobs.Progress{Job: "campaigns_daily", Units: 7})
	show(ledger.Outcome{Written: 7, Rows: 2345}, nil)
	show(ledger.Outcome{Unchanged: 5, Empty: 2, Rows: 345}, nil)
	show(ledger.Outcome{Held: 1}, nil)
	show(ledger.Outcome{Written: 7, Unreconciled: 2, Unkept: 3, Rows: 345}, nil)
	show(ledger.Outcome{}, nil)
	show(ledger.Outcome{Waiting: 1, Due: time.Date(2026, 1, 31, 6, 5, 0, 0, time.UTC)}, nil)
	show(ledger.Outcome{Written: 1, Failed: 6, Rows: 3}, errors.New("503"))
	golden(t, "lines", out.String())
}

func day(n int) civil.Date { return civil.Date{Year: 2026, Month: 1, Day: 1}.AddDays(n) }

// inspected is a table of which only that it is one counts.
type inspected struct{ jobs.Table }

func TestPlanText(t *testing.T) {
	window := func(cell int, reason refresh.Reason, days ...int) jobs.Unit {
		w := refresh.Window{Cell: day(cell)}
		for i, n := range days {
			if i > 2 {
				reason = refresh.Lookback
			}
			w.Due = append(w.Due, refresh.Due{Partition: day(n), Reason: reason})
		}
		return jobs.Unit{Name: w.Cell.String(), Due: w.Due, Requests: len(w.Runs())}
	}
	var out bytes.Buffer
	service := config.Service{Rate: 1, Burst: 1}
	writePlan(&out, service, jobs.Job{Name: "campaigns_daily"}, jobs.Plan{Table: inspected{}, Units: []jobs.Unit{
		window(3, refresh.Missing, 3, 4, 5, 6, 9), window(10, refresh.Interrupted, 10),
		window(17, refresh.Unfinished, 17, 18),
	}}, ledger.Lacking{})
	writePlan(&out, service, jobs.Job{Name: "networks_weekly"}, jobs.Plan{Table: inspected{}}, ledger.Lacking{})
	golden(t, "plan", out.String())
}
