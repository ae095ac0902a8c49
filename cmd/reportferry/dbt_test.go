package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/slow"
)

// modelled is a config with a table of each sort that makes another file: money, ratios, unique
// users and cohorts by day; weeks, and hours; and a snapshot of events, which has nothing to sum.
const modelled = `service: embedded
ledger: file://%[1]s/ledger
jobs:
  - name: cohorts_daily
    kind: report
    schedule: "0 6 * * *"
    start: -9d
    currency: USD
    sinks: [%[2]s]
    dimensions: [day, app, network]
    metrics: [installs, cost, ecpi_all, paid_impressions, ecpm, daus, kpi_daus, all_revenue, arpdau, all_revenue_total_d7, roas_d7, ctr]
  - {name: weekly, kind: report, schedule: "0 6 * * 1", start: -15d, currency: EUR, sinks: [%[2]s], dimensions: [week, country_code], metrics: [installs, cost], bigquery: {require_partition_filter: true}}
  - {name: hourly, kind: report, start: -2d, currency: USD, sinks: [%[2]s], dimensions: [hour], metrics: [installs]}
  - {name: events, kind: events, sinks: [%[2]s]}
  - {name: choices, kind: sharing, source: "file://%[1]s/in/*.csv", rejects: "file://%[1]s/rejects"}
`

// writeModelled writes the config for a sink, and gives its path.
func writeModelled(t *testing.T, dir, sink string) string {
	t.Helper()
	path := filepath.Join(dir, "reportferry.yml")
	check(t, os.WriteFile(path, fmt.Appendf(nil, modelled, dir, sink), 0o600))
	return path
}

// called runs a command in this process.
func called(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	var b bytes.Buffer
	code = execute(t.Context(), args, &b, &b)
	return b.String(), code
}

// project reads all files of a folder into one text.
func project(t *testing.T, dir string) string {
	t.Helper()
	texts := map[string]string{}
	check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		texts[strings.TrimPrefix(path, dir+"/")] = string(text)
		return err
	}))
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(&b, "==== %s\n%s", path, texts[path])
	}
	return b.String()
}

// The whole project for each adapter, of tables that a run has filled. That dbt takes it is proved
// by .ci/dbt.
func TestDbtProjects(t *testing.T) {
	slow.Test(t)
	dir := t.TempDir()
	if out, code := called(t, "run", "cohorts_daily", "weekly", "hourly", "events", "--now", "--config",
		writeModelled(t, dir, "file://"+dir+"/out")); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	for dialect, sink := range map[string]string{
		"duckdb":   "file://" + dir + "/out",
		"bigquery": "bigquery://my-project/ads?location=EU&endpoint=http://127.0.0.1:9",
		"postgres": "postgres://loader@db.example.com/warehouse/ads",
	} {
		to := filepath.Join(dir, dialect)
		out, code := called(t, "dbt", "--by", "network", "--out", to, "--config", writeModelled(t, dir, "'"+sink+"'"))
		if code != 0 {
			t.Fatalf("%s: exit code %d: %s", dialect, code, out)
		}
		got := strings.ReplaceAll(project(t, to)+"==== said\n"+out, dir, "/tables")
		path := filepath.Join(testdata, "dbt-"+dialect+".txt")
		if *update {
			check(t, os.WriteFile(path, []byte(got), 0o644))
		}
		if want, err := os.ReadFile(path); err != nil || got != string(want) {
			t.Errorf("%s: %v: the project is another one:\n%s", path, err, got)
		}
	}
}

// What a person asks for that a project can't be is a mistake of the command line, and nothing is
// written.
func TestDbtRefuses(t *testing.T) {
	dir := t.TempDir()
	both := "file://" + dir + "/out, 'bigquery://my-project/ads?endpoint=http://127.0.0.1:9'"
	for _, c := range []struct{ sink, args, want string }{
		{both, "", "--out: want the folder"},
		{both, "--out p", "the jobs' sinks are read by the SQL of duckdb, bigquery; choose one by --dialect"},
		{both, "--out p --dialect trino", `--dialect "trino": want one of bigquery, postgres, duckdb`},
		{both, "--out p --dialect postgres", "no job has a table that dbt reads by the SQL of postgres"},
		{both, "weakly --out p --dialect duckdb", `no job "weakly"`},
		{both, "--out p --dialect duckdb --by nettwork", "--by nettwork: no table has such a dimension"},
		{"'iceberg://lake/ads?type=rest&uri=https://catalog.example.com'", "--out p",
			"no job has a table in a folder, a bucket, BigQuery or Postgres"},
	} {
		args := append([]string{"dbt", "--config", writeModelled(t, dir, c.sink)},
			strings.Fields(strings.ReplaceAll(c.args, "--out p", "--out "+dir+"/p"))...)
		if out, code := called(t, args...); code != 2 || !strings.Contains(unfolded(out), c.want) {
			t.Errorf("%s: exit code %d, want: %s\n%s", c.args, code, c.want, out)
		}
	}
	path := writeModelled(t, dir, "file://"+dir+"/out")
	text, err := os.ReadFile(path)
	check(t, err)
	check(t, os.WriteFile(path, []byte(strings.Replace(string(text), "events, sinks: [file://"+dir+"/out",
		"events, sinks: [file://"+dir+"/other", 1)), 0o600))
	out, code := called(t, "dbt", "--out", dir+"/p", "--config", path)
	if code != 2 || !strings.Contains(unfolded(out), "a source of dbt is one place") {
		t.Errorf("two places: exit code %d: %s", code, out)
	}
	if _, err := os.Stat(dir + "/p"); err == nil {
		t.Error("something is written")
	}
}
