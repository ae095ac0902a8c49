package inspect

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/views"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/state"
	"github.com/reportferry/reportferry/sinks"
)

var update = flag.Bool("update", false, "write the golden files anew")

// spending is a table with a name, a column and a ratio of each sort.
var spending = views.Table{
	Name: "campaigns_daily", On: "day", By: []string{"network"}, Sums: []string{"installs", "cost", "group"},
	Ratios: []views.Ratio{{Name: "ecpi", Formula: "cost/installs"},
		{Name: "ecpm", Formula: "(cost*1000)/abs(installs-group)"}},
}

// of is a reading of a place where partitions of two tables are told, and nothing of restatements.
func readingAt(p views.Place, whole string) Reading {
	r := Reading{Place: p, Prefix: state.Prefix, Whole: whole,
		Partitions: p.Table("_reportferry_partitions_campaigns_daily"),
		Freshness:  p.Named(state.Prefix + state.Partitions)}
	r.States = map[string][]string{state.Partitions: {r.Partitions, p.Table("_reportferry_partitions_countries")}}
	return r
}

// The statements for each engine, in the order in which they can be made. Names are quoted as it
// does, a namespace of two levels is named as it does, and what isn't told yet is a view without
// rows, but in BigQuery.
func TestStatements(t *testing.T) {
	schema := func(name string) string { return `"warehouse".` + views.Postgres.Quote(name) }
	dataset := func(name string) string { return views.BigQuery.Quote("project.dataset." + name) }
	warehouse := readingAt(views.Place{Dialect: views.BigQuery, Table: dataset, Named: dataset}, "")
	warehouse.States[state.Partitions] = []string{dataset("_reportferry_partitions_*")}
	warehouse.Freshness = dataset("INFORMATION_SCHEMA.PARTITIONS")
	level := []string{"ads", "e`u\""}
	readings := map[string]Reading{
		"bigquery": warehouse,
		"postgres": readingAt(views.Place{Dialect: views.Postgres, Table: schema, Named: schema}, ""),
	}
	for _, d := range inCatalogs {
		p := views.InCatalog(d, "lake", level)
		readings[d.Name] = readingAt(p, "")
		if d.Name == "duckdb" {
			readings[d.Name] = readingAt(p, p.Table(spending.Name))
		}
	}
	if got := dialectNames(); len(got) != len(readings) {
		t.Errorf("dialects %v aren't those that are tried", got)
	}
	for name, r := range readings {
		list, err := r.Views(spending, long(t)...)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, v := range list {
			b.WriteString(r.Create(v) + "\n")
		}
		b.WriteString(r.Create(union(t, r)) + "\n")
		for _, kind := range StateKinds {
			if query := r.StateUnion(kind, stateColumns(kind), nil).Query; name != "bigquery" &&
				strings.Contains(query, "AS )") {
				t.Errorf("%s: a column without a type:\n%s", name, query)
			}
		}
		path := filepath.Join("testdata", name+".sql")
		if *update {
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || b.String() != string(want) {
			t.Errorf("%s: %v:\n%s\nwant\n%s", name, err, &b, want)
		}
	}
}

// long are the designs of views in long form of a table by week, in a zone two hours ahead.
func long(t *testing.T) []views.Long {
	t.Helper()
	s := inLongForm("week", "UTC+02:00", "network")
	cohorts, err := Cohorts(spending.Name, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	events, err := Events(spending.Name, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return []views.Long{cohorts, events}
}

// union is the view over the tables of two accounts, each of which has a column that the other
// lacks.
func union(t *testing.T, r Reading) views.View {
	t.Helper()
	columns := []sinks.Column{{Name: "day", Type: sinks.Date}, {Name: "network", Type: sinks.String},
		{Name: "cost", Type: sinks.Decimal}}
	var members []views.Member
	for account, own := range []sinks.Column{{Name: "installs", Type: sinks.Int64},
		{Name: "loaded", Type: sinks.Instant}} {
		r := r
		table := views.Table{Name: spending.Name + "_" + string(rune('a'+account)), On: "day"}
		if r.Whole != "" {
			r.Whole = r.Table(table.Name)
		}
		m, err := r.member(string(rune('a'+account)), table, &sinks.Schema{Columns: append(columns[:3:3], own)})
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, m)
	}
	return r.Union(spending.Name, accountColumn, members)
}

// A column of the name that the view adds would stand there twice.
func TestUnionOfATableWithAnAccount(t *testing.T) {
	r := readingAt(views.InCatalog(views.Trino, "lake", []string{"ads"}), "")
	if _, err := r.member("a", spending, &sinks.Schema{Columns: []sinks.Column{{Name: "account"}}}); !errors.Is(err,
		ledger.ErrRefused) {
		t.Errorf("%v", err)
	}
}

// A table without periods has no date to sum by, and is final as a whole.
func TestStatementsOfATableWithoutPeriods(t *testing.T) {
	r := readingAt(views.InCatalog(views.Trino, "lake", []string{"ads"}), "")
	list, err := r.Views(views.Table{Name: "networks", Sums: []string{"installs"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []views.View{
		{Name: "networks_by", Query: "SELECT\n  SUM(\"installs\") AS \"installs\"\nFROM \"lake\".\"ads\".\"networks\""},
		{Name: "networks_final", Query: "SELECT * FROM \"lake\".\"ads\".\"networks\"\nWHERE EXISTS (SELECT 1 FROM " +
			"\"lake\".\"ads\".\"_reportferry_partitions_campaigns_daily\" " +
			"WHERE table_name = 'networks' AND state = 'final')"},
	}
	for _, v := range want {
		if !slices.Contains(list, v) {
			t.Errorf("%v isn't among %v", v, list)
		}
	}
}

// Where nothing is told of the job's partitions yet, nothing can be left out, and no table of
// states is named that isn't there.
func TestStatementsOfATableWithoutRows(t *testing.T) {
	p := views.InCatalog(views.Trino, "lake", []string{"ads"})
	r := readingAt(p, "")
	r.Partitions, r.States = "", nil
	list, err := r.Views(spending)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range list {
		if strings.Contains(v.Query, "NOT IN") || strings.Contains(v.Query, "_reportferry_partitions_") {
			t.Errorf("%v", v)
		}
		if v.Name == spending.Name+"_final" && !strings.Contains(v.Query, p.Named(state.Prefix+state.Partitions)) {
			t.Errorf("%v", v)
		}
	}
}

// Postgres would cut a name without an error, and two views would become one.
func TestStatementsOfALongName(t *testing.T) {
	schema := func(name string) string { return views.Postgres.Quote(name) }
	r := readingAt(views.Place{Dialect: views.Postgres, Table: schema, Named: schema}, "")
	r.Longest = len("campaigns_daily_by_day_network")
	if _, err := r.Views(spending); err != nil {
		t.Errorf("a name that fits: %v", err)
	}
	r.Longest--
	if _, err := r.Views(spending); !errors.Is(err, ledger.ErrRefused) ||
		!strings.Contains(err.Error(), "campaigns_daily_by_day_network") {
		t.Errorf("a name that is too long: %v", err)
	}
}
