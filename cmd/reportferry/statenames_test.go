package main

import (
	"os"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/slow"
)

// named makes the names of the tables of states begin without an underscore, for readers that leave
// out what begins with one.
const named = "state_tables: reportferry_\nledger: "

// The tables of states have the names that the config asks for in files and in BigQuery, and so
// have the views that read them.
func TestNamesOfStateTables(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--days", "30", "--apps", "1")
	p := newPlace(t, s, 3, 1, living)
	p.edit(t, "ledger: ", named)
	p.edit(t, "jobs:\n", "jobs:\n  - {name: slugs, kind: events, sinks: [file://"+p.dir+"/out]}\n")
	p.untilCode(0, "run")
	p.allNumbers(t)
	p.edit(t, s.url, s.restated(t, "11", "--days", "30", "--apps", "1").url)
	p.untilCode(0, "run", "--force")
	for _, folder := range []string{"", "/reportferry_partitions", "/reportferry_restatements"} {
		entries, err := os.ReadDir(p.dir + "/out" + folder)
		check(t, err)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		want := map[string]string{
			"": "installs installs.dataset.json reportferry_partitions " +
				"reportferry_restatements slugs slugs.dataset.json",
			"/reportferry_partitions": "table=installs table=slugs", "/reportferry_restatements": "table=installs",
		}[folder]
		if got := strings.Join(names, " "); got != want {
			t.Errorf("out%s has %s, want %s", folder, got, want)
		}
	}
	out, code := p.run("views", "installs", "--dialect", "duckdb")
	for _, want := range []string{"reportferry_partitions/table=installs", `VIEW "reportferry_partitions"`,
		`VIEW "reportferry_restatements"`, `VIEW "reportferry_freshness"`} {
		if code != 0 || !strings.Contains(out, want) || strings.Contains(out, "_reportferry") {
			t.Errorf("exit code %d, want %s: %s", code, want, out)
		}
	}

	w := newWarehouse(t, s, 3, living)
	w.edit(t, "ledger: ", named)
	w.untilCode(0, "run")
	if told, err := w.Rows("proj.ds.reportferry_partitions_installs"); err != nil || len(told) != 3 {
		t.Errorf("BigQuery is told of %d partitions: %v", len(told), err)
	}
	out, code = w.run("views", "installs", "--apply")
	for name, want := range map[string]string{
		"proj.ds.reportferry_partitions": "`proj.ds.reportferry_partitions_*`",
		"proj.ds.installs_final":         "`proj.ds.reportferry_partitions_installs`",
		"proj.ds.reportferry_freshness":  " AND NOT STARTS_WITH(table_name, 'reportferry_')",
	} {
		if made := w.Tables()[name]; code != 0 || made == nil || made.View == nil ||
			!strings.Contains(made.View.Query, want) {
			t.Errorf("exit code %d, %s isn't made with %s: %s", code, name, want, out)
		}
	}
}

// A job's table may not be taken for one of states.
func TestATableNamedAsThoseOfStates(t *testing.T) {
	s := startService(t, "--days", "30", "--apps", "1")
	p := newPlace(t, s, 3, 1, living)
	p.edit(t, "ledger: ", "state_tables: inst_\nledger: ")
	p.edit(t, "kind: report", "kind: report\n    table: inst_daily")
	if out, code := p.run("plan"); code != 2 || !strings.Contains(out,
		"the table inst_daily of job installs begins with inst_ too") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
