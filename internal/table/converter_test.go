//go:build !fuzz

package table

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/slow"
)

func TestOptions(t *testing.T) {
	day := smallColumns[0]
	for want, change := range map[string]func(o *Options){
		"convert a table: a column has no name": func(
			o *Options) {
			o.Columns = []Column{day, {Source: "x"}}
		},
		"convert a table: column day is named twice": func(
			o *Options) {
			o.Columns = []Column{day, {Name: "day", Source: "x"}}
		},
		"convert a table: dimension x has no source: it would be NULL everywhere": func(
			o *Options) {
			o.Columns = []Column{day, {Name: "x", Dimension: true}}
		},
		"convert a table: no partition is expected": func(
			o *Options) {
			o.Partitions = nil
		},
		"convert a table: partition 2026-01-01 is named twice": func(
			o *Options) {
			o.Partitions = append(o.Partitions, firstDay)
		},
		"convert a table: partition 2026-02-30 isn't a date": func(
			o *Options) {
			o.Partitions[0] = civil.Date{Year: 2026, Month: 2, Day: 30}
		},
		"convert a table: unknown codec \"lzo\"; want zstd, snappy or none": func(
			o *Options) {
			o.Codec = "lzo"
		},
		"convert a table: the column that names a row's partition must be a date or an hour that is asked for": func(
			o *Options) {
			o.Route = 1
		},
	} {
		o := smallOptions(t)
		change(&o)
		if _, err := New(o); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestPartsWithoutRows(t *testing.T) {
	o := smallOptions(t)
	for name, answers := range map[string][]io.Reader{
		"no answer": nil, "a header alone": {strings.NewReader(smallHeader), strings.NewReader(smallHeader)},
	} {
		parts, err := convert(o, answers...)
		if err != nil || len(parts) != 2 {
			t.Fatalf("%s: %v %v", name, parts, err)
		}
		for _, p := range parts {
			got := readPart(t, p, o.Columns)
			if p.Rows != 0 || len(got.rows) != 0 || got.metadata["rows"] != "0" || got.schema.NumFields() != 6 ||
				p.Sums["installs"] != "0" || p.Sums["cost"] != "0.000000" {
				t.Errorf("%s: %+v %+v", name, p, got)
			}
		}
	}
}

func TestRouteByHourAndWeek(t *testing.T) {
	for typ, text := range map[catalog.Type]string{
		catalog.Hour: "at,n\n2026-01-02T00:00:00,1\n2026-01-01T23:00:00,2\n2026-01-02T23:59:59,4\n",
		catalog.Week: "at,n\n2026-01-02 - 2026-01-08,1\n2026-01-01 - 2026-01-07,2\n2026-01-02 - 2026-01-08,4\n",
	} {
		o := smallOptions(t)
		o.Columns = []Column{{Name: "n", Source: "n", Type: catalog.Int64, Additive: true},
			{Name: "at", Source: "at", Type: typ, Dimension: true}}
		o.Route = 1
		parts, err := convert(o, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if parts[0].Sums["n"] != "2" || parts[1].Sums["n"] != "5" || parts[1].Rows != 2 {
			t.Errorf("%s: %+v", typ, parts)
		}
		readPart(t, parts[1], o.Columns)
	}
}

// A table without periods: all rows are of the one partition, whatever dates are among them.
func TestNoRoute(t *testing.T) {
	o := smallOptions(t)
	o.Route = NoRoute
	if _, err := convert(o); err == nil || !strings.Contains(err.Error(), "no column names") {
		t.Errorf("two partitions without a route: %v", err)
	}
	o.Partitions = []civil.Date{{Year: 1, Month: 1, Day: 1}}
	parts, err := convert(o, strings.NewReader(smallAnswer))
	if err != nil {
		t.Fatal(err)
	}
	if len(parts) != 1 || parts[0].Rows != 4 || parts[0].Sums["installs"] != "13" {
		t.Errorf("%+v", parts)
	}
	if r := readPart(t, parts[0], o.Columns); r.metadata["partition"] != "all" {
		t.Errorf("metadata: %v", r.metadata)
	}
}

func TestEnds(t *testing.T) {
	o := smallOptions(t)
	o.Budget = NewBudget(0)
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := c.Read(ctx, strings.NewReader(smallAnswer)); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(o.Dir); len(entries) != 2 {
		t.Errorf("%d files are open without a budget, want 2", len(entries))
	}
	if err := c.Read(ctx, strings.NewReader("x\n")); err == nil {
		t.Error("a wrong header is taken")
	}
	if err := c.Read(ctx, strings.NewReader(smallAnswer)); err == nil ||
		!strings.Contains(err.Error(), "use a converter after its error") {
		t.Errorf("read after an error: %v", err)
	}
	if _, err := c.Finish(); err == nil {
		t.Error("finish after an error")
	}
	c.Abort()
	c.Abort()
	noFiles(t, o.Dir)
	if n := len(o.Budget.seats); n != 0 {
		t.Errorf("%d converters are open still", n)
	}

	if c, err = New(o); err != nil {
		t.Fatal(err)
	}
	parts, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	c.Abort()
	if err := c.Read(ctx, strings.NewReader(smallAnswer)); err == nil ||
		err.Error() != "use a converter after its end" {
		t.Errorf("read after the end: %v", err)
	}
	if _, err := os.Stat(parts[0].Path); err != nil {
		t.Errorf("Abort after Finish: %v", err)
	}
	if n := len(o.Budget.seats); n != 0 {
		t.Errorf("%d converters are open still", n)
	}
	o.Dir += "/gone"
	if _, err := convert(o, strings.NewReader(smallAnswer)); err == nil ||
		!strings.Contains(err.Error(), "create a spool file") {
		t.Errorf("without a directory: %v", err)
	}
}

func TestBlankKeyOfANumber(t *testing.T) {
	o := smallOptions(t)
	o.Columns = append([]Column{}, smallColumns...)
	o.Columns[2].Dimension = true
	_, err := convert(o, strings.NewReader(smallHeader+"2026-01-01,a,,1,1,n\n"))
	if err == nil || err.Error() !=
		`decode a CSV answer: row 1 (line 2), column "installs": "" is blank, and a column of type int64 needs a value` {
		t.Error(err)
	}
}

func TestSumsAreExact(t *testing.T) {
	o := smallOptions(t)
	o.Columns = append([]Column{}, smallColumns...)
	o.Columns[4].Additive = true
	row := fmt.Sprintf("2026-01-01,a,%d,999999999999.999999,0.1,n\n", math.MaxInt64)
	low := fmt.Sprintf("2026-01-02,a,%d,-999999999999.999999,1e16,n\n", math.MinInt64)
	parts, err := convert(o, strings.NewReader(smallHeader+strings.Repeat(row,
		10)+"2026-01-01,a,0,0,1e16,n\n2026-01-01,a,0,0,-1e16,n\n"+strings.Repeat(low,
		3)+"2026-01-02,a,5,0.000001,1,n\n2026-01-02,a,0,0,-3e16,n\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []map[string]string{
		{"installs": "92233720368547758070", "cost": "9999999999999.999990", "rate": "1"},
		{"installs": "-27670116110564327419", "cost": "-2999999999999.999996", "rate": "1"},
	} {
		for name, sum := range want {
			if got := parts[i].Sums[name]; got != sum {
				t.Errorf("part %d: sum of %s = %s, want %s", i, name, got, sum)
			}
		}
	}
}

// A NULL adds nothing to a sum, also where the memory of its cell held a value before.
func TestSumsPassNulls(t *testing.T) {
	o := smallOptions(t)
	for _, rows := range []int{10, 30_000} {
		text := smallHeader + strings.Repeat("2026-01-01,a,7,1.5,1,n\n", rows) + strings.Repeat("2026-01-01,a,,,,n\n",
			rows)
		parts, err := convert(o, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := parts[0].Sums["installs"]; got != fmt.Sprint(7*rows) ||
			parts[0].Sums["cost"] != fmt.Sprintf("%d.000000", rows*3/2) {
			t.Errorf("%d rows and as many NULLs: %v", rows, parts[0].Sums)
		}
	}
}

// Row groups follow the budget, and nothing else does.
func TestBudget(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	if _, err := io.Copy(&text, windowAnswer(7, 25_000, true)); err != nil {
		t.Fatal(err)
	}
	groups := map[int64]int{}
	var first []Part
	for _, budget := range []int64{0, 8 << 20, 64 << 20} {
		parts, err := convert(windowOptions(t.TempDir(), NewBudget(budget)), bytes.NewReader(text.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = parts
		}
		for i, p := range parts {
			groups[budget] += readPart(t, p, windowColumns).rowGroups
			if p.Hash != first[i].Hash || p.Sums["cost"] != first[i].Sums["cost"] {
				t.Errorf("a budget of %d changes part %s", budget, p.Partition)
			}
		}
	}
	if groups[64<<20] != 7 || groups[8<<20] < 8 || groups[8<<20] > 35 || groups[0] < 2*groups[8<<20] {
		t.Errorf("row groups by budget: %v", groups)
	}
}

// More distinct texts than a dictionary takes, in row groups that are written one after the other.
func TestManyTexts(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	o := smallOptions(t)
	o.Budget = NewBudget(2 << 20)
	var text strings.Builder
	text.WriteString(smallHeader)
	want := func(i int) (campaign, note string) {
		return fmt.Sprintf("campaign of the %d. kind", i), strings.Repeat("n", i/20_000)
	}
	for i := range 60_000 {
		campaign, note := want(i)
		fmt.Fprintf(&text, "2026-01-01,%s,%d,0,,%s\n", campaign, i, note)
	}
	parts, err := convert(o, strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	got := readPart(t, parts[0], o.Columns)
	if got.rowGroups < 2 || len(got.rows) != 60_000 {
		t.Fatalf("%d rows in %d row groups", len(got.rows), got.rowGroups)
	}
	for i, row := range got.rows {
		campaign, note := want(i)
		if note == "" {
			note = null
		}
		if row[1] != campaign || row[5] != note {
			t.Fatalf("row %d is %q", i, row)
		}
	}
}

// Converters that share a budget hold no more than it beside their newest rows and their
// dictionaries, which are half of what each may hold when it is alone, and their memory is given
// back.
func TestSharedBudget(t *testing.T) {
	t.Parallel()
	const bytes, converters = 8 << 20, 6
	budget := NewBudget(bytes)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var held [converters]int64
	most := int64(0)
	for i := range held {
		wg.Go(func() {
			c, err := New(windowOptions(t.TempDir(), budget))
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Abort()
			watch := func() {
				mu.Lock()
				defer mu.Unlock()
				if c.pool == nil {
					return
				}
				held[i] = c.pool.Bytes()
				sum := int64(0)
				for _, n := range held {
					sum += n
				}
				most = max(most, sum)
			}
			if err := c.Read(context.Background(), watched{windowAnswer(uint64(i), 35_000, i%2 == 0), watch}); err !=
				nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most > bytes+converters*bytes/4 || most < bytes/2 {
		t.Errorf("the converters held %d bytes, the budget is %d", most, bytes)
	}
	if n := len(budget.seats); n != 0 {
		t.Errorf("%d converters are open still", n)
	}
}

type watched struct {
	io.Reader
	watch func()
}

func (w watched) Read(p []byte) (int, error) {
	w.watch()
	return w.Reader.Read(p)
}

// Nothing is allocated for a row: what is left is for row groups and files.
func TestAllocations(t *testing.T) {
	var text bytes.Buffer
	const rows = 90_000
	if _, err := io.Copy(&text, windowAnswer(3, rows, false)); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := convert(windowOptions(t.TempDir(), nil), &text); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if perRow := float64(after.Mallocs-before.Mallocs) / rows; perRow > 0.2 {
		t.Errorf("%.2f allocations a row", perRow)
	}
}

// A part whose bytes or columns are others than its record says is told apart.
func TestMeasure(t *testing.T) {
	o := smallOptions(t)
	parts, err := convert(o, strings.NewReader(smallAnswer))
	if err != nil {
		t.Fatal(err)
	}
	for what, columns := range map[string][]Column{
		"a column less": o.Columns[:3], "another name": append(slices.Clone(o.Columns[:5]),
			Column{Name: "remark", Type: catalog.String}),
	} {
		if _, _, err := measure(parts[0], columns); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if _, other, err := measure(parts[1], o.Columns); err != nil || other == parts[0].Hash {
		t.Errorf("two parts measure the same: %v", err)
	}
	data, err := os.ReadFile(parts[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, half := range [][]byte{data[:len(data)/2], data[:8], nil, append([]byte("junk"), data...)} {
		if _, _, err := Measure(t.Context(), bytes.NewReader(half), int64(len(half)), o.Columns); err == nil {
			t.Errorf("%d of %d bytes are a whole part", len(half), len(data))
		}
	}
}
