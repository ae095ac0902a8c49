//go:build !fuzz

package table

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cloud.google.com/go/civil"

	"github.com/parquet-go/parquet-go/format"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/slow"
)

// Ids of more than two bytes, one by one and in runs; texts and numbers that hardly repeat, which
// leave the dictionary; and more distinct numbers than it takes.
func TestLargeDictionary(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	const distinct, rows = 70_000, 160_000
	column := func(name string, dimension bool, text func(row int) string) drawnColumn {
		c := drawnColumn{Column: Column{Name: name, Source: name, Type: catalog.String, Dimension: dimension},
			null: make([]bool, rows)}
		for row := range rows {
			c.texts = append(c.texts, text(row))
			c.null[row] = c.texts[row] == "" && !dimension
		}
		return c
	}
	r := rand.New(rand.NewPCG(9, 10))
	drawn := drawnTable{rows: rows, partitions: []civil.Date{firstDay}, columns: []drawnColumn{
		column("many", true, func(row int) string {
			switch {
			case row >= 2*distinct:
				return fmt.Sprint("text ", distinct-100+row/50%100)
			case row%2 == 0:
				return fmt.Sprint("text ", row/2)
			}
			return fmt.Sprint("text ", r.IntN(row/2+1))
		}),
		column("unique", false, func(row int) string {
			switch {
			case row == 100, row > 100_000 && row < 110_000:
				return ""
			case row > 120_000:
				return fmt.Sprint(row % 7)
			}
			return fmt.Sprint(row)
		}),
	}}
	numbers := func(name string, typ catalog.Type, value func(row int) int64) {
		c := drawnColumn{Column: Column{Name: name, Source: name, Type: typ, Dimension: true}, null: make([]bool, rows)}
		for row := range rows {
			c.values = append(c.values, value(row))
		}
		drawn.columns = append(drawn.columns, c)
	}
	numbers("day", catalog.Day, func(row int) int64 { return int64(row) })
	numbers("hour", catalog.Hour, func(row int) int64 { return int64(row) * 3_600_000_000 })
	numbers("ratio", catalog.Double, func(row int) int64 {
		if row%2 == 1 {
			row = r.IntN(row + 1)
		}
		return int64(math.Float64bits(float64(row/2) / 3))
	})
	o := Options{Route: NoRoute, Partitions: drawn.partitions, Dir: t.TempDir()}
	all := make([]int, rows)
	for row := range all {
		all[row] = row
	}
	for _, c := range drawn.columns {
		o.Columns = append(o.Columns, c.Column)
	}
	parts, err := convert(o, bytes.NewReader(drawn.csv()))
	if err != nil {
		t.Fatal(err)
	}
	if err := drawn.check(parts[0], o, all); err != nil {
		t.Fatal(err)
	}
	m, _ := footer(t, parts[0])
	if len(m.RowGroups) != 1 {
		t.Fatalf("%d row groups, want one: the dictionary is smaller than meant", len(m.RowGroups))
	}
	// RLE is of the levels, PLAIN of the dictionary, too.
	for i, least := range []int64{0, 7 * rows / 2, 3 * rows, 7 * rows, 2 * rows} {
		got := m.RowGroups[0].Columns[i].MetaData
		if want := []format.Encoding{format.RLE, format.Plain, format.RLEDictionary}; !slices.Equal(got.Encoding,
			want) {
			t.Errorf("column %d: %v, want %v", i, got.Encoding, want)
		}
		if got.TotalUncompressedSize < least {
			t.Errorf("column %d: %d bytes, at least %d if most values are plain ones", i, got.TotalUncompressedSize,
				least)
		}
	}
}

// However large the budget is, a row group ends.
func TestLongestRowGroup(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	const rows = 1<<20 + 100_000
	o := Options{Route: NoRoute, Partitions: []civil.Date{firstDay}, Dir: t.TempDir(),
		Columns: []Column{{Name: "n", Source: "n", Type: catalog.Int64}}}
	csv := bytes.Repeat([]byte("7\n12\n\"\"\n"), rows/3+1)
	parts, err := convert(o, bytes.NewReader(append([]byte("n\n"), csv...)))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := footer(t, parts[0])
	if len(m.RowGroups) != 2 || m.RowGroups[0].NumRows != 1<<20 || parts[0].Nulls["n"] != rows/3+1 {
		t.Errorf("%d row groups: %+v", len(m.RowGroups), parts[0])
	}
	if n, hash, err := measure(parts[0], o.Columns); err != nil || n != parts[0].Rows || hash != parts[0].Hash {
		t.Errorf("measured %d rows and %s (%v), want %d and %s", n, hash, err, parts[0].Rows, parts[0].Hash)
	}
}
