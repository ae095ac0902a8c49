package parquet

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

var (
	files = flag.Int("n", 60, "how many files are drawn")
	seed  = flag.Uint64("seed", 1, "seed of the drawn files")
)

// cells are those of a column.
type cells struct {
	Column
	values []int64
	texts  []string // of a column of texts
	null   []bool
	raw    bool // its texts are taken for ones that hardly repeat
}

// put fills the next n rows of a group from row on.
func (c *cells) put(g *Group, i, row, n int) error {
	g.Begin(n)
	if c.Type != Text {
		copy(g.Values(i)[:n], c.values[row:])
	}
	for k := range n {
		if c.null[row+k] {
			g.SetNull(i, k)
			continue
		}
		if c.Type != Text {
			continue
		}
		text, ok := []byte(c.texts[row+k]), false
		if t, ids := g.Texts(i); t.Raw() {
			ok = t.Append(text)
		} else {
			var hash uint64
			if ids[k], hash, ok = t.ID(text); hash != xxhash.Sum64(text) {
				return fmt.Errorf("the hash of %q is %x", text, hash)
			}
		}
		if !ok {
			return fmt.Errorf("%q isn't taken", text)
		}
	}
	return nil
}

// value is a cell as parquet-go reads it.
func (c *cells) value(row int) parquet.Value {
	switch {
	case c.null[row]:
		return parquet.Value{}
	case c.Type == Text:
		return parquet.ByteArrayValue([]byte(c.texts[row]))
	case c.Type == Date:
		return parquet.Int32Value(int32(c.values[row]))
	case c.Type == Double:
		return parquet.DoubleValue(math.Float64frombits(uint64(c.values[row])))
	}
	return parquet.Int64Value(c.values[row])
}

// write makes a file of the cells, with row groups that end after each of the rows named.
func write(dir, codec, pages string, columns []cells, rows int, ends []int, step func() int) ([]byte, error) {
	var schema []Column
	for _, c := range columns {
		schema = append(schema, c.Column)
	}
	w, err := NewWriter(schema, codec, pages)
	if err != nil {
		return nil, err
	}
	pool := NewPool(schema, 0, dir)
	defer pool.Close()
	raw := make([]int, len(columns))
	for i, c := range columns {
		if c.raw && c.Type == Text {
			raw[i] = 1 << 20
		}
	}
	var out bytes.Buffer
	f := w.Create(&out)
	f.Note("key", "value")
	g := pool.Group(raw)
	for row := 0; row < rows; {
		n := min(step(), g.Room(), rows-row)
		if k, within := slices.BinarySearch(ends, row+1); within || k < len(ends) {
			n = min(n, ends[k]-row)
		}
		for i := range columns {
			if err := columns[i].put(g, i, row, n); err != nil {
				return nil, err
			}
		}
		if err := w.Commit(g, n); err != nil {
			return nil, err
		}
		if row += n; row == rows || slices.Contains(ends, row) {
			if err := f.Write(g); err != nil {
				return nil, err
			}
			pool.Recycle(g)
			pool.Trim(1 << 20)
			if err := pool.Spill(int64(step()) << 8); err != nil {
				return nil, err
			}
			g = pool.Group(raw)
		}
	}
	if size, err := f.Close(); err != nil || size != int64(out.Len()) {
		return nil, fmt.Errorf("a file of %d bytes says %d: %w", out.Len(), size, err)
	}
	return out.Bytes(), nil
}

// check reads a file back with parquet-go and holds values, NULLs and bounds against the cells.
func check(data []byte, columns []cells, rows int) error {
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	if value, ok := f.Lookup("key"); !ok || value != "value" || f.NumRows() != int64(rows) {
		return fmt.Errorf("%d rows of %d, metadata %q", f.NumRows(), rows, value)
	}
	row := 0
	for k, group := range f.RowGroups() {
		n := int(group.NumRows())
		for i, chunk := range group.ColumnChunks() {
			c := &columns[i]
			if err := checkChunk(chunk, c, row, n); err != nil {
				return fmt.Errorf("row group %d, column %d (type %d, required %v): %w", k, i, c.Type, c.Required, err)
			}
			var seen []parquet.Value
			for r := row; r < row+n; r++ {
				if !c.null[r] {
					seen = append(seen, c.value(r))
				}
			}
			s := f.Metadata().RowGroups[k].Columns[i].MetaData.Statistics
			if s.NullCount != int64(n-len(seen)) {
				return fmt.Errorf("column %d: %d NULLs of %d", i, s.NullCount, n-len(seen))
			}
			if len(seen) == 0 {
				continue
			}
			t := f.Root().Columns()[i].Type()
			low, high := slices.MinFunc(seen, t.Compare), slices.MaxFunc(seen, t.Compare)
			long := len(low.Bytes())+len(high.Bytes()) > longestBounds
			if low.Kind() == parquet.Double && low.Double() == 0 {
				low = parquet.DoubleValue(math.Copysign(0, -1))
			}
			if long != (s.MinValue == nil) || !long && (!bytes.Equal(s.MinValue, low.Bytes()) ||
				!bytes.Equal(s.MaxValue, high.Bytes())) {
				return fmt.Errorf("column %d: bounds %.40x and %.40x, want %.40v and %.40v", i, s.MinValue, s.MaxValue,
					low, high)
			}
		}
		row += n
	}
	return nil
}

// checkPages wants all data pages of one version, and the program's in the words that parquet-java
// parses (VersionParser).
func checkPages(data []byte, first bool) error {
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	if by := f.Metadata().CreatedBy; !regexp.MustCompile(
		`^reportferry version \d+\.\d+\.\d+(-\S+)? \(build \S+\)$`).MatchString(by) {
		return fmt.Errorf("created by %q", by)
	}
	for _, group := range f.Metadata().RowGroups {
		for _, c := range group.Columns {
			for at, left := c.MetaData.DataPageOffset, c.MetaData.NumValues; left > 0; {
				r := bytes.NewReader(data[at:])
				var h format.PageHeader
				if err := thrift.NewDecoder(protocol.NewReader(r)).Decode(&h); err != nil {
					return err
				}
				if first != (h.Type == format.DataPage) || first != h.DataPageHeader.Valid ||
					first == h.DataPageHeaderV2.Valid {
					return fmt.Errorf("a page of type %v, of version 1: %t", h.Type, first)
				}
				if left -= int64(h.DataPageHeaderV2.V.NumValues); first {
					left -= int64(h.DataPageHeader.V.NumValues)
				}
				at = int64(len(data)) - int64(r.Len()) + int64(h.CompressedPageSize)
			}
		}
	}
	return nil
}

func checkChunk(chunk parquet.ColumnChunk, c *cells, from, rows int) (err error) {
	pages := chunk.Pages()
	defer func() { err = errors.Join(err, pages.Close()) }()
	row := from
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		values := make([]parquet.Value, page.NumValues())
		if n, err := page.Values().ReadValues(values); n != len(values) || err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%d values of %d: %w", n, len(values), err)
		}
		for _, v := range values {
			if row == from+rows || !parquet.Equal(v, c.value(row)) {
				return fmt.Errorf("row %d is %.40v, want %.40v", row, v, c.value(min(row, from+rows-1)))
			}
			row++
		}
		parquet.Release(page)
	}
	if row != from+rows {
		return fmt.Errorf("%d rows of %d", row-from, rows)
	}
	return nil
}

// Drawn columns, as parquet-go reads them, are what was put in.
func TestWriter(t *testing.T) {
	t.Logf("%d files, seed %d", *files, *seed)
	for k := range *files {
		r := rand.New(rand.NewPCG(*seed, uint64(k)))
		rows := []int{0, 1, 63, 64, 65, 8191, 8192, 8193, 20_000, 40_000, 40_000}[r.IntN(11)]
		columns := make([]cells, 1+r.IntN(5))
		for i := range columns {
			columns[i] = drawCells(r, fmt.Sprint("c", i), rows)
		}
		var ends []int
		for range r.IntN(4) {
			ends = append(ends, 1+r.IntN(rows+1))
		}
		slices.Sort(ends)
		codec := []string{"", "zstd", "snappy", "none"}[r.IntN(4)]
		pages := []string{"", "v1", "v2"}[r.IntN(3)]
		data, err := write(t.TempDir(), codec, pages, columns, rows, ends, func() int { return 1 + r.IntN(5000) })
		if err == nil {
			err = check(data, columns, rows)
		}
		if err == nil {
			err = checkPages(data, pages == "v1")
		}
		if err != nil {
			t.Fatalf("file %d, seed %d, %d rows: %v", k, *seed, rows, err)
		}
	}
}

func drawCells(r *rand.Rand, name string, rows int) cells {
	c := cells{Column: Column{Name: name, Type: Type(r.IntN(int(Double) + 1)), Required: r.IntN(2) == 0},
		raw: r.IntN(6) == 0}
	distinct, width, nulls := 1<<[]int{0, 1, 4, 8, 13, 20, 20}[r.IntN(7)], r.IntN(64), r.IntN(5)
	before := int64(r.IntN(2) * 1000) // so many dates may be before 1970
	for row := range rows {
		n := int64(r.IntN(distinct))
		if r.IntN(3) == 0 && row > 0 {
			c.values, c.texts = append(c.values, c.values[row-1]), append(c.texts, c.texts[row-1])
		} else {
			v := n * 0x9E3779B97F4A7C1 >> (63 - width)
			switch c.Type {
			case Date:
				v = n - before
			case Decimal:
				v %= 1_000_000_000_000_000_000
			case Double:
				v = int64(math.Float64bits(float64(v)/3 + 0))
			}
			c.values, c.texts = append(c.values, v), append(c.texts, strings.Repeat("x", int(n%20))+fmt.Sprint(n))
		}
		c.null = append(c.null, !c.Required && (nulls == 4 || r.IntN(4) < nulls && row/1000%2 == 0))
	}
	return c
}

// A text of megabytes stays out of the footer, be it in a dictionary or not, and short ones are
// bounds, also when blank.
func TestBoundsOfLongTexts(t *testing.T) {
	half := longestBounds / 2
	for _, texts := range [][]string{
		{""},
		{"a", "", "b"},
		{strings.Repeat("a", half), strings.Repeat("z", half)},
		{strings.Repeat("a", half+1), strings.Repeat("z", half)},
		{strings.Repeat("x", longestBounds)},
		{"a", strings.Repeat("m", 9<<20), "z"},
		{strings.Repeat("x", 15<<20), "z"},
		{"\x00", "\xf4\x8f\xbf\xbf"},
	} {
		null := make([]bool, len(texts))
		columns := []cells{
			{Column: Column{Name: "dictionary", Type: Text}, texts: texts, null: null},
			{Column: Column{Name: "plain", Type: Text}, texts: texts, null: null, raw: true},
		}
		data, err := write(t.TempDir(), "", "", columns, len(texts), nil, func() int { return 1 })
		if err == nil {
			err = check(data, columns, len(texts))
		}
		if err != nil {
			t.Errorf("%d texts, the first of %d bytes: %v", len(texts), len(texts[0]), err)
		}
	}
}

// Texts that aren't UTF-8 are refused, in a dictionary or not.
func TestTextsAreUTF8(t *testing.T) {
	texts := Texts{words: newTextTable(0)}
	if _, _, ok := texts.ID([]byte("a\xff")); ok || texts.Append([]byte("a\xff")) {
		t.Error("bytes that aren't UTF-8 are taken")
	}
}

func TestCodecs(t *testing.T) {
	if _, err := NewWriter(nil, "", "v3"); err == nil ||
		err.Error() != `unknown version "v3" of data pages; want v1 or v2` {
		t.Error(err)
	}
	if _, err := NewWriter(nil, "lzo", ""); err == nil ||
		err.Error() != `unknown codec "lzo"; want zstd, snappy or none` {
		t.Error(err)
	}
}

// A disk that is full is an error, wherever it comes.
func TestWriteErrors(t *testing.T) {
	c := []cells{{Column: Column{Name: "n", Type: Int64}, values: make([]int64, 100_000), null: make([]bool, 100_000)}}
	for i := range c[0].values {
		c[0].values[i] = int64(rand.Uint64())
	}
	w, err := NewWriter([]Column{c[0].Column}, "none", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range []int{0, 3, 100, 70_000, 800_000, 800_500, 801_000} {
		f := w.Create(&full{room})
		g := NewPool([]Column{c[0].Column}, 0, "").Group([]int{0})
		for row := 0; row < len(c[0].values) && err == nil; {
			n := min(g.Room(), len(c[0].values)-row)
			if err = c[0].put(g, 0, row, n); err == nil {
				err = w.Commit(g, n)
			}
			row += n
		}
		if err == nil {
			err = f.Write(g)
		}
		if err == nil {
			_, err = f.Close()
		}
		if !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("a disk with room for %d bytes: %v", room, err)
		}
		err = nil
	}
}

// full is a disk with little room.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}
