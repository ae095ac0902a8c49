//go:build !fuzz

package table

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"cloud.google.com/go/civil"
	"pgregory.net/rapid"

	"github.com/reportferry/reportferry/internal/catalog"
)

// answer is a drawn CSV answer, with the truth about it by slower and plainer ways.
type answer struct {
	columns    []Column
	partitions []civil.Date
	cells      [][]string // by row, by column: as the service writes them
	truth      [][]string // by row, by column: as readPart reads them
	day        []int      // by row: its partition
	rounded    map[string]int64
}

func drawAnswer(t *rapid.T) answer {
	a := answer{rounded: map[string]int64{}}
	a.columns = []Column{{Name: "when", Source: "when", Type: catalog.Day, Dimension: true}}
	if rapid.Bool().Draw(t, "hours") {
		a.columns[0].Type = catalog.Hour
	}
	types := []catalog.Type{catalog.String, catalog.String, catalog.Int64, catalog.Decimal, catalog.Double,
		catalog.Month, catalog.Week, catalog.Quarter, catalog.Year}
	for i := range rapid.IntRange(0, 6).Draw(t, "columns") {
		c := Column{Name: fmt.Sprintf("c%d", 9-i), Source: fmt.Sprintf("source \"%d\"", i),
			Type: rapid.SampledFrom(types).Draw(t, "type")}
		c.Dimension = c.Type == catalog.String && rapid.Bool().Draw(t, "dimension")
		c.Additive = rapid.Bool().Draw(t, "additive")
		if !c.Dimension && rapid.IntRange(0, 5).Draw(t, "asked") == 0 {
			c.Source = ""
		}
		a.columns = append(a.columns, c)
	}
	first := civil.Date{Year: 2026, Month: 2, Day: 25}
	for i := range rapid.IntRange(1, 7).Draw(t, "days") {
		a.partitions = append(a.partitions, first.AddDays(i))
	}
	for range rapid.IntRange(0, 300).Draw(t, "rows") {
		day := rapid.IntRange(0, len(a.partitions)-1).Draw(t, "day")
		cells, truth := make([]string, len(a.columns)), make([]string, len(a.columns))
		for i, c := range a.columns {
			if i == 0 {
				cells[i], truth[i] = drawTime(t, c.Type, a.partitions[day])
			} else {
				cells[i], truth[i] = a.drawCell(t, c)
			}
		}
		a.cells, a.truth, a.day = append(a.cells, cells), append(a.truth, truth), append(a.day, day)
	}
	return a
}

func daysText(d civil.Date) string {
	return strconv.Itoa(d.DaysSince(civil.Date{Year: 1970, Month: 1, Day: 1}))
}

func drawTime(t *rapid.T, typ catalog.Type, d civil.Date) (cell, truth string) {
	switch typ {
	case catalog.Week:
		return d.String() + " - " + d.AddDays(6).String(), daysText(d)
	case catalog.Month:
		return d.String()[:7], daysText(civil.Date{Year: d.Year, Month: d.Month, Day: 1})
	case catalog.Quarter:
		q := (int(d.Month) - 1) / 3
		return fmt.Sprintf("Q%d %04d", q+1, d.Year), daysText(civil.Date{Year: d.Year, Month: time.Month(1 + 3*q),
			Day: 1})
	case catalog.Year:
		return d.String()[:4], daysText(civil.Date{Year: d.Year, Month: 1, Day: 1})
	case catalog.Hour:
		hour := rapid.IntRange(0, 23).Draw(t, "hour")
		days, _ := strconv.Atoi(daysText(d))
		return fmt.Sprintf("%sT%02d:00:00", d, hour), strconv.Itoa((days*24 + hour) * 3600 * 1e6)
	}
	return d.String(), daysText(d)
}

func (a *answer) drawCell(t *rapid.T, c Column) (cell, truth string) {
	switch {
	case c.Source == "":
		return "", null
	case c.Type.IsTime():
		return drawTime(t, c.Type, civil.Date{Year: 1900, Month: 1, Day: 1}.AddDays(rapid.IntRange(0, 70_000).Draw(t,
			"date")))
	case rapid.IntRange(0, 4).Draw(t, "blank") == 0:
		if c.Dimension {
			return "", ""
		}
		return "", null
	case c.Type == catalog.String:
		text := rapid.OneOf(
			rapid.SampledFrom([]string{"unknown", "Organic", `"quoted"`, "a,b", "line\nbreak", "cr\r\nlf", "汇量", " ",
				"\"", "\u00ff", "long long long long long long name \U0010ffff"}),
			rapid.StringN(1, 8, -1),
		).Draw(t, "text")
		return text, text
	case c.Type == catalog.Int64:
		n := rapid.Int64().Draw(t, "count")
		return strconv.FormatInt(n, 10) + rapid.SampledFrom([]string{"", "", ".0", ".000"}).Draw(t, "point"),
			strconv.FormatInt(n, 10)
	case c.Type == catalog.Decimal:
		text := rapid.Custom(func(t *rapid.T) string {
			n := rapid.Int64Range(-999_999_999_999, 999_999_999_999).Draw(t, "money")
			return big.NewRat(n, int64(powersOfTen[rapid.IntRange(0, 6).Draw(t, "scale")])).FloatString(
				rapid.IntRange(0, 9).Draw(t, "decimals"))
		}).Draw(t, "decimal")
		n, v := decimalOf(text)
		if v == rounded {
			a.rounded[c.Name]++
		}
		return text, strconv.FormatInt(n, 10)
	default:
		f := rapid.Float64().Draw(t, "ratio")
		return strconv.FormatFloat(f, 'g', -1, 64), strconv.FormatFloat(f+0, 'g', -1, 64)
	}
}

// csv writes the answer with a drawn order of columns, quoting and line ends.
func (a *answer) csv(t *rapid.T, rows []int) []byte {
	var order []int
	for i, c := range a.columns {
		if c.Source != "" {
			order = append(order, i)
		}
	}
	order = rapid.Permutation(order).Draw(t, "header")
	end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "line end")
	quoteAll := rapid.Bool().Draw(t, "quote all")
	var b bytes.Buffer
	if rapid.Bool().Draw(t, "byte order mark") {
		b.WriteString("\ufeff")
	}
	line := func(text func(i int) string) {
		for k, i := range order {
			if k > 0 {
				b.WriteByte(',')
			}
			s := text(i)
			if quoteAll || len(order) == 1 || strings.ContainsAny(s, "\",\r\n") {
				s = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
			}
			b.WriteString(s)
		}
		b.WriteString(end)
	}
	line(func(i int) string { return a.columns[i].Source })
	for _, row := range rows {
		line(func(i int) string { return a.cells[row][i] })
	}
	if rapid.Bool().Draw(t, "no last line end") {
		return bytes.TrimSuffix(b.Bytes(), []byte(end))
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		a := drawAnswer(t)
		rows := make([]int, len(a.cells))
		for i := range rows {
			rows[i] = i
		}
		cut := rapid.IntRange(0, len(rows)).Draw(t, "second answer from")
		text, text2 := a.csv(t, rows[:cut]), a.csv(t, rows[cut:])
		o := Options{
			Columns: a.columns, Partitions: a.partitions, Dir: dir, Metadata: map[string]string{"table": "t",
				"fingerprint": "f"},
			Codec: rapid.SampledFrom([]string{"", "snappy", "none"}).Draw(t, "codec"), Budget: NewBudget(1 << 20),
		}
		o.Partitions = rapid.Permutation(a.partitions).Draw(t, "partitions")
		parts, err := convert(o, bytes.NewReader(text), iotest.HalfReader(bytes.NewReader(text2)))
		if err != nil {
			t.Fatalf("%v\n%q\n%q", err, text, text2)
		}
		a.check(t, o, parts)

		// The same rows in another order, with other row groups and another codec, are the same
		// content.
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		o.Codec, o.Budget = "none", NewBudget(0)
		again, err := convert(o, bytes.NewReader(a.csv(t, rows)))
		if err != nil {
			t.Fatal(err)
		}
		for i := range parts {
			sameAgain(t, o, parts[i])
			if parts[i].Hash != again[i].Hash || !maps.Equal(parts[i].Nulls, again[i].Nulls) {
				t.Fatalf("part %s changes with the order of rows", parts[i].Partition)
			}
			_ = os.Remove(parts[i].Path)
			_ = os.Remove(again[i].Path)
		}
	})
}

// sameAgain makes a part again of the rows that its file gives back.
func sameAgain(t *rapid.T, o Options, p Part) {
	o.Partitions = []civil.Date{p.Partition}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Abort()
	content, err := os.ReadFile(p.Path)
	if err == nil {
		err = ReadRows(context.Background(), bytes.NewReader(content), p.Size, o.Columns,
			func(rows [][]any) error { return c.Rows(context.Background(), rows) })
	}
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if made[0].Hash != p.Hash || !maps.Equal(made[0].Sums, p.Sums) || !maps.Equal(made[0].Nulls, p.Nulls) {
		t.Fatalf("part %s is made again as %+v, and was %+v", p.Partition, made[0], p)
	}
	_ = os.Remove(made[0].Path)
}

// check holds parts, read back by arrow-go, against the truth.
func (a *answer) check(t *rapid.T, o Options, parts []Part) {
	roundedCells := map[string]int64{}
	for i, p := range parts {
		if p.Partition != o.Partitions[i] {
			t.Fatalf("part %d is of %s, want %s", i, p.Partition, o.Partitions[i])
		}
		day := slices.Index(a.partitions, p.Partition)
		var want [][]string
		for row, d := range a.day {
			if d == day {
				want = append(want, a.truth[row])
			}
		}
		got, err := readFile(p, a.columns)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.rows) != len(want) {
			t.Fatalf("part %s has %d rows, want %d", p.Partition, len(got.rows), len(want))
		}
		for row := range want {
			if !slices.Equal(got.rows[row], want[row]) {
				t.Fatalf("part %s row %d:\n got %q\nwant %q", p.Partition, row, got.rows[row], want[row])
			}
		}
		for k, v := range map[string]string{"table": "t", "fingerprint": "f", "partition": p.Partition.String(),
			"rows": strconv.Itoa(len(want))} {
			if got.metadata[k] != v {
				t.Fatalf("metadata %s = %q, want %q", k, got.metadata[k], v)
			}
		}
		a.checkCounts(t, p, want)
		if rows, hash, err := measure(p, a.columns); err != nil || rows != p.Rows || hash != p.Hash {
			t.Fatalf("part %s measures %d rows and %s (%v), want %d and %s", p.Partition, rows, hash, err, p.Rows,
				p.Hash)
		}
		for k, v := range p.Rounded {
			roundedCells[k] += v
		}
		if info, err := os.Stat(p.Path); err != nil || info.Size() != p.Size {
			t.Fatalf("size %d, the file: %v %v", p.Size, info, err)
		}
	}
	if !maps.Equal(roundedCells, a.rounded) {
		t.Fatalf("rounded %v, want %v", roundedCells, a.rounded)
	}
}

func (a *answer) checkCounts(t *rapid.T, p Part, rows [][]string) {
	for i, c := range a.columns {
		nulls, sum := int64(0), new(big.Rat)
		for _, row := range rows {
			if row[i] == null {
				nulls++
			} else if c.Type >= catalog.Int64 {
				v, _ := new(big.Rat).SetString(row[i])
				sum.Add(sum, v)
			}
		}
		if p.Nulls[c.Name] != nulls {
			t.Fatalf("%s: %d NULLs, want %d", c.Name, p.Nulls[c.Name], nulls)
		}
		got, ok := p.Sums[c.Name]
		if ok != (c.Additive && c.Source != "" && c.Type >= catalog.Int64) {
			t.Fatalf("sum of %+v: %v", c, ok)
		}
		switch {
		case !ok:
		case c.Type == catalog.Int64 && got != sum.Num().String(),
			c.Type == catalog.Decimal && got != new(big.Rat).Quo(sum, big.NewRat(1e6, 1)).FloatString(6):
			t.Fatalf("sum of %s = %s, want %s", c.Name, got, sum.FloatString(6))
		}
	}
}
