package dbt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/config"
	"github.com/reportferry/reportferry/sinks/blobsink"
)

// A folder that is written again has what is wanted now: what was written earlier is replaced or
// removed, what people have written stays, and so does the profile.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			return "none"
		}
		return string(text)
	}
	put := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made := func(text string) string { return "-- " + mark + "\n" + text }
	if err := write(dir, map[string]string{"models/a.sql": made("1"), "models/b.sql": made("1"), profiles: "1"}); err !=
		nil {
		t.Fatal(err)
	}
	put("models/mine.sql", "SELECT 1")
	put(profiles, "mine")
	if err := write(dir, map[string]string{"models/a.sql": made("2"), "tests/c.sql": made("2"), profiles: "2"}); err !=
		nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"models/a.sql": made("2"), "models/b.sql": "none", "models/mine.sql": "SELECT 1", "tests/c.sql": made("2"),
		profiles: "mine",
	} {
		if got := read(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	err := write(dir, map[string]string{"models/a.sql": made("3"), "models/mine.sql": made("3")})
	if err == nil || !strings.Contains(err.Error(), "models/mine.sql is there, and reportferry hasn't written it") {
		t.Errorf("a file of somebody else: %v", err)
	}
	if read("models/a.sql") != made("2") || read("models/mine.sql") != "SELECT 1" {
		t.Error("something was written beside a file of somebody else")
	}
}

// MetricFlow refuses names with capitals, two underscores, or a digit, an underscore in front or
// behind.
func TestNamed(t *testing.T) {
	for column, want := range map[string]string{
		"installs": "installs", "t_Purchase__legacy_events": "t_purchase_legacy_events", "_7_days_": "t_7_days",
		"t-x.y": "t_x_y",
	} {
		if got := metricFlowName(column); got != want {
			t.Errorf("%s: %s, want %s", column, got, want)
		}
	}
}

// A table may be as old as its schedule leaves it, and two hours more for a fetch.
func TestHoursBetween(t *testing.T) {
	for schedule, want := range map[string]int{
		// On the day when clocks go back.
		"": 26, "@daily": 26, "15 * * * *": 3, "0 6 * * 1-5": 74, "0 6 1 * *": 31*24 + 2, "CET 0 6 * * *": 27,
	} {
		j := config.Job{Schedule: strings.TrimPrefix(schedule, "CET ")}
		if j.Schedule != schedule {
			j.Zone = "Europe/Berlin"
		}
		if got := hoursBetween(j); got != want {
			t.Errorf("%q: %d hours, want %d", schedule, got, want)
		}
	}
}

// Files are found wherever the layout has the table, below a folder that another environment may
// have elsewhere.
func TestFilesOf(t *testing.T) {
	const read = `read_parquet('{{ var("reportferry_files", "/data/out") }}/#', hive_partitioning=true, union_by_name=true)`
	for url, want := range map[string]string{
		"file:///data/out": "{identifier}/dt=*/part-0.parquet",
		"file:///data/out?key={date}/{table}.parquet": "*/{identifier}.parquet",
	} {
		want = strings.Replace(read, "#", want, 1)
		sink, err := blobsink.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := filesOf(sink.(*blobsink.Sink)); err != nil || got != want {
			t.Errorf("%s: %v: %s, want %s", url, err, got, want)
		}
		if err := sink.Close(); err != nil {
			t.Error(err)
		}
	}
}
