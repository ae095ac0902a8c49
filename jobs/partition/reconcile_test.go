package partition

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
)

// one is a part whose only column is x.
func one(rows int64, sum string, decimals int) table.Part {
	return table.Part{Rows: rows, Sums: map[string]string{"x": sum}, Decimals: map[string]int{"x": decimals}}
}

// added is a part whose rows are sums of so many cells with cents.
func added(rows int64, sum string, cells int64) table.Part {
	p := one(rows, sum, 2)
	p.Cells = map[string]int64{"x": cells}
	return p
}

// How far a sum may be from a total, by the type of the column, the rows, and the decimals that
// were seen.
func TestTolerance(t *testing.T) {
	for name, c := range map[string]struct {
		typ         catalog.Type
		rows, total table.Part
		differ      bool
	}{
		"equal counts":        {catalog.Int64, one(5, "12", 0), one(1, "12", 0), false},
		"a count less":        {catalog.Int64, one(5000, "12", 0), one(1, "11", 0), true},
		"a count in decimals": {catalog.Int64, one(5, "12", 0), one(1, "12", 2), false},
		"counts beyond 64 bits": {catalog.Int64, one(9, "18446744073709551616", 0),
			one(1, "18446744073709551617", 0), true},
		"half a cent a row":         {catalog.Decimal, one(3, "10.020000", 2), one(1, "10.000000", 2), false},
		"a little more than that":   {catalog.Decimal, one(3, "10.020001", 2), one(1, "10.000000", 2), true},
		"as many cents as cells":    {catalog.Decimal, added(3, "10.100000", 20), one(1, "10.000000", 2), false},
		"more cents than cells":     {catalog.Decimal, added(3, "10.110001", 20), one(1, "10.000000", 2), true},
		"more cents than that":      {catalog.Decimal, one(3, "10.030000", 2), one(1, "10.000000", 2), true},
		"the total alone has cents": {catalog.Decimal, one(3, "10.030000", 0), one(1, "10.000000", 2), true},
		"neither has cents":         {catalog.Decimal, one(3, "12.000000", 0), one(1, "10.000000", 0), false},
		"a fifth, without cents": {catalog.Decimal, one(10_000, "20000.000000", 0), one(1, "24800.000000", 0),
			true},
		"what chance may do": {catalog.Decimal, one(10_000, "20000.000000", 0), one(1, "20174.000000", 0),
			false},
		"more than that": {catalog.Decimal, one(10_000, "10000.000000", 0), one(1, "10175.000000", 0),
			true},
		"a hundredth, as by prices": {catalog.Decimal, one(10_000, "49900.000000", 0), one(1, "50300.000000", 0),
			false},
		"six decimals":               {catalog.Decimal, one(1, "1.000001", 6), one(1, "1.000000", 6), false},
		"six decimals, more":         {catalog.Decimal, one(1, "1.000002", 6), one(1, "1.000000", 6), true},
		"more than a part stores":    {catalog.Decimal, one(1, "1.000001", 9), one(1, "1.000000", 9), false},
		"negative money":             {catalog.Decimal, one(1, "-5.000000", 2), one(1, "5.000000", 2), true},
		"doubles in another order":   {catalog.Double, one(1000, "0.30000000000000004", 17), one(1, "0.3", 17), false},
		"doubles that differ":        {catalog.Double, one(1000, "0.3000001", 17), one(1, "0.3", 17), true},
		"doubles rounded to two":     {catalog.Double, one(4, "10.02", 2), one(1, "10", 2), false},
		"a double with any decimals": {catalog.Double, one(1, "1e-300", 1<<40), one(1, "1e-300", 1<<40), false},
		"no total of no rows":        {catalog.Decimal, one(0, "0.000000", 0), table.Part{}, false},
		"no total of zeros":          {catalog.Int64, one(7, "0", 0), table.Part{}, false},
		"no total of rows":           {catalog.Int64, one(7, "1", 0), table.Part{}, true},
		"no rows of a total":         {catalog.Decimal, table.Part{}, one(1, "0.750000", 2), true},
	} {
		columns := []table.Column{{Name: "x", Type: c.typ}}
		got := Compare(columns, map[int]table.Part{1: c.rows}, map[int]table.Part{1: c.total}, nil)
		if len(got[1]) > 0 != c.differ {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Amounts of one to ten thousand cells, rounded to any decimals, agree with their total, also when
// all of them are one price; and what is beyond chance is said.
func TestHonestRounding(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	columns := []table.Column{{Name: "x", Type: catalog.Decimal}}
	said := 0
	for window := range 10_000 {
		decimals := dice.IntN(5)
		cells := 1 + int(math.Pow(10, 4*dice.Float64()))/10
		unit := math.Pow(10, float64(-decimals))
		// Of an amount: no less than 50 units, so that a price's own rounding is below a hundredth.
		size := unit * (50 + 1000*dice.Float64())
		whole, rows, filled := 0.0, 0.0, int64(0)
		for range cells {
			amount := size
			if window%4 > 0 {
				amount *= 2 * dice.Float64()
			}
			whole += amount
			rounded := math.Round(amount/unit) * unit
			if rows += rounded; rounded != 0 {
				filled++
			}
		}
		text := func(v float64) string { return strconv.FormatFloat(v, 'f', 6, 64) }
		r := one(int64(cells), text(rows), decimals)
		r.Cells = map[string]int64{"x": filled}
		total := one(1, text(math.Round(whole/unit)*unit), decimals)
		if got := Compare(columns, map[int]table.Part{0: r}, map[int]table.Part{0: total}, nil); len(got) > 0 {
			t.Fatalf("window %d: %d cells with %d decimals: %+v", window, cells, decimals, got)
		}
		if why, _ := Near(columns, r, total, nil); why != "" {
			said++
		}
	}
	if said == 0 || said > 2500 {
		t.Errorf("%d of 10,000 are said to be near only, want some of the 2,500 of one price", said)
	}
}

// Columns with a share of their own may differ by it, which is said; others may not.
func TestSharesOfTotals(t *testing.T) {
	columns := []table.Column{{Name: "x", Type: catalog.Int64}, {Name: "m", Type: catalog.Decimal},
		{Name: "n", Type: catalog.Int64}}
	part := func(x, m, n string) table.Part {
		return table.Part{Rows: 9, Sums: map[string]string{"x": x, "m": m, "n": n}, Decimals: map[string]int{"m": 2}}
	}
	within := Shares{"x": 0.02, "m": 0.02}
	for _, c := range []struct {
		rows, total  table.Part
		differ, near []string
		why          string
	}{
		{part("1000", "50.000000", "7"), part("1000", "50.000000", "7"), nil, nil, ""},
		{part("980", "50.000000", "7"), part("1000", "50.000000", "7"), nil, []string{"x"},
			"x within 20 of 1000, as reconcile: cohorts allows"},
		{part("1020", "49.000000", "7"), part("1000", "50.000000", "7"), nil, []string{"x", "m"},
			"x within 20 of 1000, as reconcile: cohorts allows; m within 1 of 50, as reconcile: cohorts allows"},
		{part("979", "51.000100", "7"), part("1000", "50.000000", "7"), []string{"x", "m"}, nil, ""},
		{part("-980", "50.000000", "7"), part("-1000", "50.000000", "8"), []string{"n"}, []string{"x"},
			"x within 20 of -1000, as reconcile: cohorts allows"},
		{part("1", "50.000000", "7"), part("0", "50.000000", "7"), []string{"x"}, nil, ""},
		{part("1000", "50.000000", "7"), table.Part{}, []string{"x", "m", "n"}, nil, ""},
	} {
		names := func(list []ledger.Difference) (names []string) {
			for _, d := range list {
				names = append(names, d.Metric)
			}
			return names
		}
		found := Compare(columns, map[int]table.Part{1: c.rows}, map[int]table.Part{1: c.total}, within)
		why, apart := Near(columns, c.rows, c.total, within)
		if got := names(found[1]); !slices.Equal(got, c.differ) || why != c.why || !slices.Equal(names(apart), c.near) {
			t.Errorf("%v: %v differ, want %v; near are %v: %q, want %v: %q", c.rows.Sums, got, c.differ, names(apart),
				why, c.near, c.why)
		}
	}
}

// Keys of either side are compared, and the finest cell of any of them counts for all.
func TestCompare(t *testing.T) {
	columns := []table.Column{{Name: "n", Type: catalog.Int64}, {Name: "x", Type: catalog.Decimal}}
	part := func(n, x string, decimals int) table.Part {
		return table.Part{Rows: 1, Sums: map[string]string{"n": n, "x": x}, Decimals: map[string]int{"x": decimals}}
	}
	got := Compare(columns,
		map[string]table.Part{"a": part("1", "5.000000", 0), "b": part("2", "5.000000", 0),
			"rows": part("3", "0.000000", 2)},
		map[string]table.Part{"a": part("1", "5.020000", 0), "b": part("3", "5.000000", 0),
			"totals": part("0", "7.000000", 0), "none": {}}, nil)
	want := map[string][]ledger.Difference{
		"a":      {{Metric: "x", Rows: "5.000000", Total: "5.020000"}},
		"b":      {{Metric: "n", Rows: "2", Total: "3"}},
		"rows":   {{Metric: "n", Rows: "3"}},
		"totals": {{Metric: "x", Rows: "0", Total: "7.000000"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Totals of halves of the apps are one total.
func TestAdd(t *testing.T) {
	columns := []table.Column{{Name: "n", Type: catalog.Int64}, {Name: "x", Type: catalog.Decimal},
		{Name: "f", Type: catalog.Double}}
	part := func(n, x, f string, decimals int) table.Part {
		return table.Part{Rows: 1, Sums: map[string]string{"n": n, "x": x, "f": f},
			Decimals: map[string]int{"x": decimals}}
	}
	sum := Add(columns, part("9223372036854775807", "-1.500000", "0.25", 1), part("1", "0.250000", "1e-3", 2))
	if sum.Rows != 2 || sum.Sums["n"] != "9223372036854775808" || sum.Sums["x"] != "-1.250000" ||
		exactly(sum.Sums["f"]).Cmp(exactly("0.251")) != 0 ||
		sum.Decimals["x"] != 2 {
		t.Errorf("%+v", sum)
	}
}

func TestPlace(t *testing.T) {
	differ := func(total string) []ledger.Difference {
		return []ledger.Difference{{Metric: "cost", Rows: "10", Total: total}}
	}
	by := []string{"app_token", "network"}
	group := func(app, network string) string { return app + table.GroupSeparator + network }
	for _, c := range []struct {
		groups map[string][]ledger.Difference
		all    int
		want   string
		every  bool
	}{
		{nil, 9, "", false},
		{map[string][]ledger.Difference{group("a", "X"): {{Metric: "installs", Rows: "1"}}}, 9, "", false},
		{map[string][]ledger.Difference{group("a", "X"): differ("12"), group("b", "Y, Z"): differ("-5"),
			group("c", ""): differ("")}, 3,
			"app_token b, network Y, Z; app_token c, network \"\"; app_token a, network X", false},
		{map[string][]ledger.Difference{group("a", "1"): differ("1"), group("a", "2"): differ("2"),
			group("a", "3"): differ("3"), group("a", "4"): differ("4"),
			group("a", "5"): differ("4")}, 6,
			"app_token a, network 1; app_token a, network 2; app_token a, network 3; and 2 more", false},
		{map[string][]ledger.Difference{group("a", "1"): differ("1"), group("a", "2"): differ("2"),
			group("a", "3"): differ("3"), group("a", "4"): differ("4")}, 4,
			"each app_token and network of 4", true},
	} {
		if got, every := Place(by, "cost", c.groups, c.all); got != c.want || every != c.every {
			t.Errorf("%q %v, want %q", got, every, c.want)
		}
	}
}
