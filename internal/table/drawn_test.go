//go:build !fuzz

package table

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
)

// drawnTable is a table whose columns are drawn to lie on the edges of what the encoder
// distinguishes: widths of ids and numbers, sizes of pages and dictionaries, texts that stop to
// repeat and begin to again.
type drawnTable struct {
	columns    []drawnColumn
	partitions []civil.Date
	rows       int
	part       []int // by row: its partition
}

// drawnColumn holds its values as a part's readers see them.
type drawnColumn struct {
	Column
	values []int64  // days, microseconds, counts, millionths, bits of a double
	texts  []string // of a String column
	null   []bool
	trim   bool // decimals without zeros at their end
}

var (
	drawnSizes = []int{0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 1000, 3000, 8191, 8192, 8193, 16384, 20_000,
		100_000}
	drawnDistinct = []int{1, 1, 2, 3, 4, 5, 16, 17, 255, 256, 257, 4096, 4097, 65535, 65536, 65537, 1 << 30, 1 << 30}
)

func drawTable(r *rand.Rand, largest int) *drawnTable {
	t := &drawnTable{rows: drawnSizes[r.IntN(len(drawnSizes))]}
	if r.IntN(100) == 0 {
		t.rows = 1_200_000
	}
	t.rows = min(t.rows, largest)
	first := civil.Date{Year: 2026, Month: 2, Day: 25}
	for i := range []int{1, 1, 1, 1, 2, 2, 5, 12}[r.IntN(8)] {
		t.partitions = append(t.partitions, first.AddDays(i))
	}
	route := drawnColumn{Column: Column{Name: "period", Source: "period", Type: catalog.Day, Dimension: true}}
	run := 1 + r.IntN(1+t.rows/2)
	for row := range t.rows {
		at := r.IntN(len(t.partitions))
		if run > 3 { // most reports come sorted
			at = min(row/run, len(t.partitions)-1)
		}
		t.part = append(t.part, at)
		days, _ := daysOfDate(t.partitions[at])
		route.values = append(route.values, days)
	}
	route.null = make([]bool, t.rows)
	t.columns = append(t.columns, route)
	types := []catalog.Type{catalog.String, catalog.String, catalog.String, catalog.Int64, catalog.Int64,
		catalog.Decimal, catalog.Decimal,
		catalog.Double, catalog.Double, catalog.Day, catalog.Week, catalog.Month, catalog.Quarter, catalog.Year,
		catalog.Hour}
	for i := range 1 + r.IntN(5) {
		c := drawnColumn{Column: Column{Name: fmt.Sprintf("c%d", i), Source: fmt.Sprintf("c%d", i),
			Type: types[r.IntN(len(types))], Additive: true}}
		c.Dimension = r.IntN(3) == 0
		c.draw(r, t.rows)
		t.columns = append(t.columns, c)
	}
	return t
}

func (c *drawnColumn) draw(r *rand.Rand, rows int) {
	shape, salt, nulls := r.IntN(8), r.Uint64(), r.IntN(6)
	c.trim = r.IntN(2) == 0
	if c.Dimension || c.Type.IsTime() {
		nulls = 0
	} else if nulls == 4 && r.IntN(3) == 0 && !c.Type.IsTime() {
		c.Source = "" // not asked for
	}
	long, one := r.IntN(25) == 0, r.IntN(rows+1)
	order := drawOrder(r, rows)
	if c.Type == catalog.String {
		c.texts = make([]string, rows)
	} else {
		c.values = make([]int64, rows)
	}
	c.null = make([]bool, rows)
	for row, n := range order {
		switch {
		case c.Source == "", nulls == 1 && r.IntN(3) == 0, nulls == 2 && row%3000 > 1000, nulls == 3 && r.IntN(200) > 0,
			nulls == 4, nulls == 5 && row == one:
			c.null[row] = true
			continue
		}
		if c.Type == catalog.String {
			c.texts[row] = drawnText(shape, n, salt, long)
			c.null[row] = c.texts[row] == "" && !c.Dimension
		} else {
			c.values[row] = drawnValue(c.Type, shape, n, salt)
		}
	}
}

// drawOrder gives for every row the number of its value among the distinct ones.
func drawOrder(r *rand.Rand, rows int) []int {
	distinct, pattern := drawnDistinct[r.IntN(len(drawnDistinct))], r.IntN(7)
	order := make([]int, rows)
	last, run := 0, 1+r.IntN(2000)
	for i := range order {
		switch pattern {
		case 0:
			order[i] = r.IntN(distinct)
		case 1, 2:
			order[i] = i % distinct
		case 3:
			order[i] = i / run % distinct
		case 4: // few are frequent
			order[i] = int(r.ExpFloat64()*float64(min(distinct, 5000))/20) % distinct
		case 5: // runs of any length
			if i == 0 || r.IntN(20) == 0 {
				last = r.IntN(distinct)
			}
			order[i] = last
		case 6: // hardly repeat, and then do
			order[i] = i
			if i/16384%2 == 1 {
				order[i] = i % 5
			}
		}
	}
	return order
}

func drawnText(shape, n int, salt uint64, long bool) string {
	if long && n%1000 == 7 {
		return strings.Repeat(string(rune('a'+n%26)), 1<<20) + strconv.Itoa(n)
	}
	switch shape {
	case 0:
		return strconv.Itoa(n)
	case 1:
		return strings.Repeat("x", n%40)
	case 2:
		return fmt.Sprintf("%016x", mix(uint64(n)^salt, prime2, prime3))[:1+n%16] + strconv.Itoa(n)
	case 3:
		return fmt.Sprintf("汇量 %d \U0010ffff é", n)
	case 4:
		return fmt.Sprintf("a, \"%d\"\r\n\x00", n)
	case 5:
		return fmt.Sprintf("campaign with a long name that differs in the %d. place only, and nowhere else", n)
	case 6:
		return fmt.Sprintf("%08d", n)
	}
	return string(rune(' ' + n%0xd000)) // one character
}

func drawnValue(t catalog.Type, shape, n int, salt uint64) int64 {
	any := int64(mix(uint64(n)^salt, prime2, prime3))
	switch {
	case t == catalog.Double:
		return drawnDouble(shape, n, any)
	case t.IsTime():
		d := civil.Date{Year: 1, Month: 1, Day: 1}.AddDays(n % 3_600_000)
		switch {
		case shape < 4:
			d = civil.Date{Year: 2020, Month: 1, Day: 1}.AddDays(n % 2_000_000)
		case shape == 4:
			d = civil.Date{Year: 1970, Month: 1, Day: 3}.AddDays(-n % 700_000)
		}
		switch t {
		case catalog.Month:
			d.Day = 1
		case catalog.Quarter:
			d.Day, d.Month = 1, (d.Month-1)/3*3+1
		case catalog.Year:
			d.Day, d.Month = 1, 1
		}
		days, _ := daysOfDate(d)
		if t == catalog.Hour {
			return days*microsPerDay + int64(n%86400)*1_000_000
		}
		return days
	}
	v := int64(n)
	switch shape {
	case 1:
		v = -v
	case 2:
		v = any
	case 3:
		v = []int64{math.MinInt64, math.MaxInt64, 0, -1, 1, 255, 256}[n%7]
	case 4:
		v = 1<<39 + any&(1<<39-1) // five bytes
	case 5:
		v = int64(1)<<(n%44) - int64(n&1)
	case 6:
		v = v<<20 | v
	}
	if t == catalog.Decimal {
		v %= decimalBound
	}
	return v
}

func drawnDouble(shape, n int, any int64) int64 {
	f := float64(n)
	switch shape {
	case 1:
		f = -f / 8
	case 2:
		if f = math.Float64frombits(uint64(any)); math.IsNaN(f) || math.IsInf(f, 0) {
			f = 1
		}
	case 3:
		f = []float64{0, math.SmallestNonzeroFloat64, math.MaxFloat64, -math.MaxFloat64, -math.SmallestNonzeroFloat64,
			0.1, -1, 1e-300}[n%8]
	case 4:
		f /= 3
	case 5:
		f = 0
	}
	return int64(math.Float64bits(f + 0))
}

// cell is how the service writes a value.
func (c *drawnColumn) cell(row int) string {
	if c.null[row] {
		return ""
	}
	if c.Type == catalog.String {
		return c.texts[row]
	}
	v := c.values[row]
	switch c.Type {
	case catalog.Int64:
		return strconv.FormatInt(v, 10)
	case catalog.Double:
		f := math.Float64frombits(uint64(v))
		if f == 0 && row%2 == 1 {
			return "-0.0"
		}
		return strconv.FormatFloat(f, "gf"[row%2], -1, 64)
	case catalog.Decimal:
		sign, magnitude := "", uint64(v)
		if v < 0 {
			sign, magnitude = "-", -magnitude
		}
		text := fmt.Sprintf("%s%d.%06d", sign, magnitude/1e6, magnitude%1e6)
		if c.trim {
			text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		}
		return text
	case catalog.Hour:
		return time.UnixMicro(v).UTC().Format("2006-01-02T15:04:05")
	}
	d := civil.Date{Year: 1970, Month: 1, Day: 1}.AddDays(int(v))
	switch c.Type {
	case catalog.Week:
		return d.String() + " - " + d.AddDays(6).String()
	case catalog.Month:
		return d.String()[:7]
	case catalog.Quarter:
		return fmt.Sprintf("Q%d %04d", (d.Month-1)/3+1, d.Year)
	case catalog.Year:
		return d.String()[:4]
	}
	return d.String()
}

// text is a value as readPart gives it.
func (c *drawnColumn) text(row int) string {
	switch {
	case c.null[row]:
		return null
	case c.Type == catalog.String:
		return c.texts[row]
	case c.Type == catalog.Double:
		return strconv.FormatFloat(math.Float64frombits(uint64(c.values[row])), 'g', -1, 64)
	}
	return strconv.FormatInt(c.values[row], 10)
}

func (t *drawnTable) csv() []byte {
	var b bytes.Buffer
	line := func(text func(c *drawnColumn) string) {
		comma := ""
		for i := range t.columns {
			if c := &t.columns[i]; c.Source != "" {
				s := text(c)
				b.WriteString(comma)
				if comma = ","; strings.ContainsAny(s, "\",\r\n") {
					s = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
				}
				b.WriteString(s)
			}
		}
		b.WriteByte('\n')
	}
	line(func(c *drawnColumn) string { return c.Source })
	for row := range t.rows {
		line(func(c *drawnColumn) string { return c.cell(row) })
	}
	return b.Bytes()
}

func (t *drawnTable) options(r *rand.Rand, dir string) Options {
	o := Options{Partitions: t.partitions, Dir: dir, Codec: []string{"zstd", "zstd", "zstd", "snappy",
		"none"}[r.IntN(5)],
		Budget: NewBudget([]int64{0, 1 << 20, 8 << 20, DefaultBudget}[r.IntN(4)])}
	for _, c := range t.columns {
		o.Columns = append(o.Columns, c.Column)
	}
	if len(t.partitions) == 1 && r.IntN(2) == 0 {
		o.Route = NoRoute
	}
	return o
}
