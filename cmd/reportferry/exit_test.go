package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/sinks/bqsink/bqtest"
)

// here runs a command line in this process, in the place's folder.
func (p *place) here(args ...string) (string, int) {
	p.t.Helper()
	p.t.Chdir(p.dir)
	p.t.Setenv("TEST_TOKEN", p.token)
	var out bytes.Buffer
	code := execute(p.t.Context(), args, &out, &out)
	if strings.Contains(out.String(), p.token) {
		p.t.Errorf("the token is shown: %s", out.String())
	}
	return out.String(), code
}

func TestExitCodes(t *testing.T) {
	slow.Test(t)
	s := startService(t, "--apps", "2", "--days", "30", "--token", "secret-token-of-the-test")
	warehouse, err := bqtest.New(bqtest.Options{Datasets: []string{"proj.ds"}})
	check(t, err)
	t.Cleanup(func() { check(t, warehouse.Close()) })
	empty, err := warehouse.Listen()
	check(t, err)
	every := func(f emulator.Fault) []emulator.Fault {
		f.Every, f.Path = 1, "csv_report"
		return []emulator.Fault{f}
	}
	replace := func(old, new string) func(*testing.T, *place) {
		return func(t *testing.T, p *place) {
			path := filepath.Join(p.dir, "reportferry.yml")
			data, err := os.ReadFile(path)
			check(t, err)
			if !strings.Contains(string(data), old) {
				t.Fatalf("the config has no %q", old)
			}
			check(t, os.WriteFile(path, []byte(strings.Replace(string(data), old, new, 1)), 0o600))
		}
	}
	for _, c := range []struct {
		name   string
		args   []string
		before func(*testing.T, *place)
		faults []emulator.Fault
		code   int
		says   string
	}{
		{"done", []string{"run"}, nil, nil, 0, "written 5, unchanged 0"},
		{"done in JSON", []string{"run", "--log-format", "json"}, nil, nil, 0, `"message":"run ended"`},
		{"help", []string{"--help"}, nil, nil, 0, "Exit codes:"},
		{"an unknown flag", []string{"run", "--nwo"}, nil, nil, 2, "run has no flag --nwo; did you mean --now"},
		{"an unknown command", []string{"rnu"}, nil, nil, 2, `no command "rnu"; did you mean run`},
		{"an unknown command with a flag", []string{"rnu", "--dimension", "day"}, nil, nil, 2,
			`no command "rnu"; did you mean run`},
		{"an unknown command of a group", []string{"spend", "pus", "--first"}, nil, nil, 2,
			`spend has no command "pus"; did you mean push`},
		{"a flag alone", []string{"--job", "x"}, nil, nil, 2, "reportferry has no flag --job"},
		{"dry run of a push", []string{"spend", "push", "--dry-run"}, nil, nil, 2, "reportferry spend check shows"},
		{"dry run of apply", []string{"apps", "apply", "--dry-run"}, nil, nil, 2, "reportferry apps plan shows"},
		{"an unknown job", []string{"run", "instals"}, nil, nil, 2, `no job "instals" in the config; it has installs`},
		{"no config", []string{"run", "--config", "none.yml"}, nil, nil, 2, "none.yml"},
		{"a bad config", []string{"run"}, replace("currency: USD", "curency: USD"), nil, 2, "did you mean currency?"},
		{"a bad date", []string{"backfill", "installs", "--from", "2026-02-30", "--to", "2026-03-01"}, nil, nil, 2,
			`--from "2026-02-30"`},
		{"a range the wrong way round", []string{"backfill", "installs", "--from", "2026-03-02", "--to", "2026-03-01"},
			nil, nil, 2, "lies before"},
		{"no such log format", []string{"run", "--log-format", "xml"}, nil, nil, 2, "want text or json"},
		{"the fingerprint changed", []string{"run"}, func(t *testing.T, p *place) {
			p.here("run")
			replace("currency: USD", "currency: EUR")(t, p)
		}, nil, 2, `currency was "USD" and is now "EUR"`},
		{"the token is wrong", []string{"run"}, func(_ *testing.T, p *place) { p.token = "wrong" }, nil, 5, "401"},
		{"no permission", []string{"run"}, nil, every(emulator.Fault{Kind: emulator.FaultStatus, Status: 403}), 5,
			"403"},
		{"all failed", []string{"run"}, nil, every(emulator.Fault{Kind: emulator.FaultStatus, Status: 400}), 1, "400"},
		{"some failed", []string{"run"}, nil,
			[]emulator.Fault{{Path: "csv_report", Query: "campaign", Nth: 2, Kind: emulator.FaultStatus, Status: 400}},
			3, "failed 2"},
		{"a damaged ledger", []string{"run"}, func(t *testing.T, p *place) {
			p.here("run")
			paths, err := filepath.Glob(filepath.Join(p.dir, "ledger/tables/installs/months/2*.json"))
			check(t, err)
			check(t, os.WriteFile(paths[len(paths)-1], []byte("{"), 0o600))
		}, nil, 1, "is damaged"},
		{"more partitions than a table holds", []string{"backfill", "installs", "--from", "1990-01-01", "--to",
			"2026-01-01"},
			func(t *testing.T, p *place) {
				p.edit(t, "file://"+p.dir+"/out", `"bigquery://proj/ds?endpoint=`+empty+`"`)
			}, nil, 2, "BigQuery holds at most 10000 in a table"},
		{"a filter without a value", []string{"report", "--dimensions", "day", "--metrics", "installs", "--filter",
			"app__in"}, nil, nil, 2, "want a name, = and a value"},
		{"a filter twice", []string{"report", "--dimensions", "day", "--metrics", "installs", "--filter", "app__in=a",
			"--filter", "app__in=b"}, nil, nil, 2, "is given twice"},
		{"a filter of no operator", []string{"report", "--dimensions", "day", "--metrics", "installs", "--filter",
			"app__like=a"}, nil, nil, 2, "two underscores and one of"},
		{"a report of nothing", []string{"report", "--metrics", "installs"}, nil, nil, 2, "at least one, such as day"},
		{"two zones", []string{"report", "--dimensions", "day", "--metrics", "installs", "--timezone-id", "1",
			"--utc-offset", "+01:00"}, nil, nil, 2, "exclude each other"},
		{"a format that isn't one", []string{"report", "--dimensions", "day", "--metrics", "installs", "--format",
			"xlsx"}, nil, nil, 2, "want text, json, csv or parquet"},
		{"a report without permission", []string{"report", "--dimensions", "day", "--metrics", "installs"},
			func(_ *testing.T, p *place) { p.token = "wrong" }, nil, 5, "401"},
		{"events without permission", []string{"events"}, func(_ *testing.T, p *place) { p.token = "wrong" }, nil, 5,
			"401"},
		{"a backfill of nothing", []string{"backfill", "installs"}, nil, nil, 2,
			"want one of --from, --gaps, --missing-columns"},
		{"the end of no range", []string{"backfill", "installs", "--to", "2026-01-01", "--gaps"}, nil, nil, 2,
			"--to needs --from"},
		{"a backfill that is only shown", []string{"backfill", "installs", "--from", "-3d", "--dry-run"}, nil,
			every(emulator.Fault{Kind: emulator.FaultStatus, Status: 500}), 0, "installs: 2 windows, 3 partitions"},
		{"a range of a table without periods", []string{"backfill", "installs", "--from", "2026-01-01", "--to",
			"2026-01-02"},
			func(t *testing.T, p *place) {
				replace("    page: 2d\n", "")(t, p)
				replace("dimensions: [day, app_token", "dimensions: [app_token")(t, p)
			}, nil, 2, "use run --force"},
		{"a table that is old", []string{"status", "--max-age", "26h"}, nil, nil, 3, "stale: the next period ended"},
		{"a table that is new", []string{"status", "--max-age", "26h"}, func(_ *testing.T, p *place) { p.here("run") },
			nil, 0, "last fetch"},
		{"a report with a column missing", []string{"report", "--dimensions", "day", "--metrics", "installs,cost"}, nil,
			every(emulator.Fault{Kind: emulator.FaultDrift, Drift: emulator.DriftMissing, Column: "installs"}), 1,
			"no column installs"},
		{"a report with a column more", []string{"report", "--dimensions", "day", "--metrics", "installs,cost"}, nil,
			every(emulator.Fault{Kind: emulator.FaultDrift, Drift: emulator.DriftExtra}), 0,
			"extra that wasn't asked for"},
		{"a check of another meaning", []string{"check"}, func(t *testing.T, p *place) {
			p.here("run")
			replace("currency: USD", "currency: EUR")(t, p)
		}, nil, 2, "run --rebaseline"},
		{"a check of half a rebaseline", []string{"check"}, func(t *testing.T, p *place) {
			p.here("run")
			replace("currency: USD", "currency: EUR")(t, p)
			s.admin(t, "PUT", "faults", []emulator.Fault{{Path: "csv_report", Query: "campaign", Nth: 2,
				Kind: emulator.FaultStatus, Status: 400}})
			if out, code := p.here("run", "--rebaseline"); code != 3 {
				t.Fatalf("half a rebaseline: exit code %d: %s", code, out)
			}
		}, nil, 3, "2 partitions whose numbers mean something else than the newest ones"},
		{"days become weeks", []string{"run"}, func(t *testing.T, p *place) {
			p.here("run")
			replace("    page: 2d\n", "")(t, p)
			replace("dimensions: [day", "dimensions: [week")(t, p)
		}, nil, 2, "or give the job another table Something is left out"},
		{"a part that is damaged", []string{"check"}, func(t *testing.T, p *place) {
			p.here("run")
			paths, err := filepath.Glob(filepath.Join(p.dir, "out/installs/*/*.parquet"))
			check(t, err)
			check(t, os.WriteFile(paths[0], []byte("PAR1"), 0o600))
		}, nil, 3, "can't be read as a part"},
		{"a token that isn't there", []string{"run"}, replace("TEST_TOKEN", "NO_SUCH_TOKEN"), nil, 2, "NO_SUCH_TOKEN"},
		{"a range in the future", []string{"backfill", "installs", "--from", "2999-01-01", "--to", "2999-01-02"}, nil,
			nil, 2, "in the future"},
		{"a sink that forgets", []string{"run"}, replace("sinks: [file://", "sinks: [mem://"), nil, 2,
			`unknown scheme "mem"`},
		{"a ledger that forgets", []string{"run"}, replace("ledger: file://", "ledger: mem://"), nil, 2,
			"the smallest ledger is a folder"},
		{"a sink of no store", []string{"run"}, replace("sinks: [file://", "sinks: [gopher://"), nil, 2,
			"known: azblob, bigquery, file, gs, iceberg, postgres, s3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.admin(t, "PUT", "faults", []string{})
			p := newPlace(t, s, 5, 1, living)
			if c.before != nil {
				c.before(t, p)
			}
			s.admin(t, "PUT", "faults", c.faults)
			out, code := p.here(c.args...)
			if code != c.code || !strings.Contains(unfolded(out), c.says) {
				t.Errorf("exit code %d, want %d; says %q, want %q in it", code, c.code, out, c.says)
			}
		})
	}
}

// A run that was asked for by name and gets nothing says so; a scheduled one has nothing to
// complain of.
func TestHeldByAnother(t *testing.T) {
	slow.Test(t)
	s := startService(t, "--apps", "1", "--days", "30", "--latency", "1m")
	p := newPlace(t, s, 1, 1, "2s") // a scheduled run waits for its end
	holder, out := p.command(t.Context(), "run")
	check(t, holder.Start())
	defer func() {
		check(t, holder.Process.Kill())
		_ = holder.Wait() // killed
	}()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		leased, err := filepath.Glob(filepath.Join(p.dir, "ledger/tables/installs/months/2*.json"))
		check(t, err)
		if len(leased) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the holder leases nothing: %s", out)
		}
	}
	if text, code := p.here("run", "installs"); code != 4 || !strings.Contains(text, "held by another run") {
		t.Errorf("named: exit code %d: %s", code, text)
	}
	if text, code := p.here("run"); code != 0 {
		t.Errorf("scheduled: exit code %d: %s", code, text)
	}
}
