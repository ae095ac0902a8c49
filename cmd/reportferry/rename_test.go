package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/slow"
)

// What reads a table whose columns have other names reads these, and computes by what the service
// calls them: views, in long form too, and the project for dbt are those of the table without other
// names, but for the names.
func TestRenamedIsRead(t *testing.T) {
	slow.Test(t)
	const rename = "    rename: {day: date, network: channel, installs: Installed, cost: spend, ecpi_all: price, " +
		"roas_d7: back}\n"
	names := strings.NewReplacer(
		`"day"`, `"date"`, `"network"`, `"channel"`, `"installs"`, `"Installed"`, `"cost"`, `"spend"`, `"ecpi_all"`,
		`"price"`, `"roas_d7"`, `"back"`,
		"_by_day_network", "_by_date_channel",
	)
	said := func(more, by string) (text, models string) {
		dir := t.TempDir()
		path := writeModelled(t, dir, "file://"+dir+"/out")
		config, err := os.ReadFile(path)
		check(t, err)
		check(t, os.WriteFile(path, []byte(strings.Replace(string(config), "    metrics: [installs, cost, ecpi_all,",
			more+"    metrics: [installs, cost, ecpi_all,", 1)), 0o600))
		for _, args := range [][]string{{"run", "cohorts_daily", "--now"},
			{"views", "cohorts_daily", "--by", by, "--cohorts"},
			{"dbt", "--by", by, "--out", filepath.Join(dir, "dbt")}} {
			out, code := called(t, append(args, "--config", path)...)
			if code != 0 {
				t.Fatalf("%s: exit code %d: %s", args, code, out)
			}
			if args[0] == "views" {
				text = strings.ReplaceAll(out, dir, "/tables")
			}
		}
		return text, project(t, filepath.Join(dir, "dbt"))
	}
	usual, _ := said("", "network")
	got, models := said(rename, "channel")
	if want := names.Replace(usual); got != want || !strings.Contains(got, `SUM("spend")`) {
		t.Errorf("the views are\n%s\nwant\n%s", got, want)
	}
	for _, text := range []string{"- name: spend\n", "numerator: cohorts_daily_spend\n",
		"denominator: cohorts_daily_installed\n", "expr: channel\n", "expr: date\n"} {
		if !strings.Contains(models, text) {
			t.Errorf("the project for dbt has no %q: %s", text, models)
		}
	}
}

// In BigQuery nobody gives rows back, so that partitions are fetched to rename a column of theirs;
// one that is frozen stays as it is.
func TestRenamedInBigQuery(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	s := startService(t, "--days", "30", "--apps", "1")
	w := newWarehouse(t, s, 5, living)
	if out, code := w.run("run"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	before, err := w.Rows(warehouseTable)
	check(t, err)
	w.edit(t, "metrics: [", "contract: freeze\n    rename: {installs: downloads}\n    metrics: [")
	if out, code := w.run("run"); code != 2 || !strings.Contains(unfolded(out),
		"downloads is new; installs is gone; undo the change, or let a run with contract: evolve take it into the "+
			"table") {
		t.Errorf("exit code %d: %s", code, out)
	}
	w.edit(t, "contract: freeze", "contract: evolve")
	if out, code := w.run("plan"); code != 0 || !strings.Contains(out, "with columns to drop or rename") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := w.run("run"); code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
	w.edit(t, "contract: evolve", "contract: freeze")
	if out, code := w.run("plan"); code != 0 || strings.Contains(out, "with columns") {
		t.Errorf("exit code %d: %s", code, out)
	}
	after, err := w.Rows(warehouseTable)
	check(t, err)
	for i, row := range after { // downloads is the last column, and installs the first metric
		last := len(row) - 1
		row[5], after[i] = row[last], row[:last]
	}
	slices.SortFunc(before, slices.Compare)
	slices.SortFunc(after, slices.Compare)
	if !slices.EqualFunc(after, before, slices.Equal) || len(before) == 0 {
		t.Errorf("%d rows are there, and %d were; the first is %v", len(after), len(before), after[:1])
	}
}
