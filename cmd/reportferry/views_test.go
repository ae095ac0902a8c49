package main

import (
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/slow"
	"github.com/reportferry/reportferry/sinks/bqsink"
)

// The views that are made are those that are printed, also the second time, when they are replaced.
// What their SQL computes is held against the service by .ci/views.py.
func TestViewsAreMade(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--days", "30", "--apps", "1")
	w := newWarehouse(t, s, 1, living)
	w.edit(t, "metrics: [installs, clicks,", "metrics: [installs, clicks, daus, ctr,")
	if out, code := w.run("run"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	for range 2 {
		out, code := w.run("views", "installs", "--by", "network", "--apply")
		if code != 0 || !strings.Contains(out, "left out: ctr, which needs impressions in the table") ||
			!strings.Contains(out, "SUM(`daus`)") { // unique within a day
			t.Fatalf("exit code %d: %s", code, out)
		}
		for _, name := range []string{
			"proj.ds.installs_by_day_network", "proj.ds._reportferry_freshness", "proj.ds._reportferry_partitions",
			"proj.ds.installs_final",
		} {
			made := w.Tables()[name]
			if made == nil || made.View == nil || !strings.Contains(out,
				"CREATE OR REPLACE VIEW `"+name+"` AS\n"+made.View.Query+";") {
				t.Errorf("%s isn't what was printed: %+v", name, made)
			}
		}
	}
}

// A table that earlier versions kept under the name of a view isn't replaced silently.
func TestViewsOverAnOldTable(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--days", "30", "--apps", "1")
	w := newWarehouse(t, s, 1, living)
	w.untilCode(0, "run")
	dataset, err := bqsink.Open(t.Context(), w.url)
	check(t, err)
	defer dataset.Close() //nolint:errcheck // a fake's
	check(t, dataset.(*bqsink.Sink).Append(t.Context(), "_reportferry_partitions", auditRunsSchema, "old",
		[]map[string]any{{"run": "1", "job": "installs"}}))
	if out, code := w.run("views", "installs", "--apply"); code == 0 ||
		!strings.Contains(out, "a table of that name is there") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// A kept dimension must be one, and a bucket keeps no views: it has files, which DuckDB's views
// read.
func TestViewsRefuse(t *testing.T) {
	s := startService(t, "--days", "30", "--apps", "1")
	w := newWarehouse(t, s, 1, living)
	if out, code := w.run("views", "installs", "--by", "colour"); code != 2 ||
		!strings.Contains(out, "no such dimension") {
		t.Errorf("exit code %d: %s", code, out)
	}
	p := newPlace(t, s, 1, 1, living)
	if out, code := p.run("views", "installs", "--apply"); code != 2 ||
		!strings.Contains(out, "no sink that is read by the SQL of bigquery") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// An Iceberg table is read by several engines, so that one has to be named; and an engine that
// doesn't read a sink is refused before it is opened.
func TestViewsWantADialect(t *testing.T) {
	s := startService(t, "--days", "30", "--apps", "1")
	p := newPlace(t, s, 1, 1, living)
	for args, want := range map[string]string{
		"--dialect presto":           `--dialect "presto": want bigquery, postgres, trino, spark or duckdb`,
		"--dialect trino":            "no sink that is read by the SQL of trino; it has file://",
		"--apply --dialect postgres": "--apply makes views in BigQuery alone",
	} {
		if out, code := p.run(append([]string{"views", "installs"}, strings.Fields(args)...)...); code != 2 ||
			!strings.Contains(out, want) {
			t.Errorf("%s: exit code %d: %s", args, code, out)
		}
	}
	p.edit(t, "sinks: [file://"+p.dir+"/out]",
		`sinks: ["iceberg://lake/ads?type=rest&uri=https://catalog.example.com&token=secret"]`)
	for args, want := range map[string]string{
		"": "several engines read iceberg://lake/ads, each with an SQL of its own; name yours by " +
			"--dialect: trino, spark or duckdb",
		"--dialect postgres": "no sink that is read by the SQL of postgres; it has iceberg://lake/ads\n",
	} {
		if out, code := p.run(append([]string{"views", "installs"}, strings.Fields(args)...)...); code != 2 ||
			!strings.Contains(out, want) {
			t.Errorf("%s: exit code %d: %s", args, code, out)
		}
	}
}
