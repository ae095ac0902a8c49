package table

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/catalog"
)

// A part that is read back has the sums of its groups, NULLs and several row groups included.
func TestGrouped(t *testing.T) {
	o := Options{Columns: []Column{
		{Name: "app", Source: "app", Dimension: true}, {Name: "network", Source: "network", Dimension: true},
		{Name: "n", Source: "n", Type: catalog.Int64, Additive: true},
		{Name: "cost", Source: "cost", Type: catalog.Decimal, Additive: true},
		{Name: "time", Source: "time", Type: catalog.Double, Additive: true},
		{Name: "rate", Source: "rate", Type: catalog.Double},
	}, Route: NoRoute, Partitions: smallOptions(t).Partitions[:1], Dir: t.TempDir(), Budget: NewBudget(0)}
	var answer strings.Builder
	answer.WriteString("app,network,n,cost,time,rate\n")
	const rows = 3000
	for i := range rows {
		fmt.Fprintf(&answer, "a%d,\"x, y\",%d,0.25,1.5,0.1\n", i%2, i%3)
	}
	answer.WriteString("a1,,,-1.125,,\n")
	parts, err := convert(o, strings.NewReader(answer.String()))
	if err != nil {
		t.Fatal(err)
	}
	groups, err := parts[0].Grouped(t.Context(), o.Columns, []string{"network", "app"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Part{
		"x, y" + GroupSeparator + "a0": {Rows: rows / 2, Sums: map[string]string{"n": "1500", "cost": "375.000000",
			"time": "2250"}},
		"x, y" + GroupSeparator + "a1": {Rows: rows / 2, Sums: map[string]string{"n": "1500", "cost": "375.000000",
			"time": "2250"}},
		GroupSeparator + "a1": {Rows: 1, Sums: map[string]string{"n": "0", "cost": "-1.125000", "time": "0"}},
	} {
		got := groups[name]
		if got.Rows != want.Rows || fmt.Sprint(got.Sums) != fmt.Sprint(want.Sums) || got.Decimals["cost"] != 3 {
			t.Errorf("%q: %+v, want %+v", name, got, want)
		}
	}
	if len(groups) != 3 {
		t.Errorf("%d groups", len(groups))
	}
	if _, err := parts[0].Grouped(t.Context(), o.Columns, []string{"n"}); err == nil {
		t.Error("rows are grouped by a number")
	}
	if _, err := parts[0].Grouped(t.Context(), o.Columns[1:], []string{"network"}); err == nil {
		t.Error("other columns are taken for those of the part")
	}
}

// A part knows the most decimals that any cell of an answer was written with.
func TestDecimalsSeen(t *testing.T) {
	o := smallOptions(t)
	o.Columns = append(o.Columns[:4:4], Column{Name: "rate", Source: "rate", Type: catalog.Double, Additive: true})
	parts, err := convert(o, strings.NewReader("day,campaign,installs,cost,rate\n2026-01-01,a,12.0,12345678901.50,"+
		"0.125\n2026-01-02,b,1,7,1e-9\n"),
		strings.NewReader("day,campaign,installs,cost,rate\n2026-01-01,a,3,1.250,\n2026-01-02,b,1,7.1,\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []map[string]int{{"installs": 0, "cost": 3, "rate": 3},
		{"installs": 0, "cost": 1, "rate": 9}} {
		if fmt.Sprint(parts[i].Decimals) != fmt.Sprint(want) {
			t.Errorf("part %d: %v, want %v", i, parts[i].Decimals, want)
		}
	}
}
