package parquet

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/reportferry/reportferry/internal/bench"
	"github.com/reportferry/reportferry/internal/catalog"
)

// answerCells are the typed columns of an answer of internal/bench.
func answerCells(b *testing.B, s bench.Shape) []cells {
	b.Helper()
	types := map[catalog.Type]Type{catalog.Day: Date, catalog.Int64: Int64, catalog.Decimal: Decimal,
		catalog.Double: Double, catalog.String: Text}
	var columns []cells
	for _, c := range s.Columns() {
		columns = append(columns, cells{Column: Column{Name: c.Name, Type: types[c.Type], Required: c.Dimension}})
	}
	r := csv.NewReader(bench.NewAnswer(s, 1))
	_, err := r.Read() // the header
	for err == nil {
		var row []string
		if row, err = r.Read(); err != nil {
			break
		}
		for i := range columns {
			c, v := &columns[i], int64(0)
			switch {
			case row[i] == "":
			case c.Type == Date:
				day, _ := time.Parse(time.DateOnly, row[i])
				v = day.Unix() / 86400
			case c.Type == Int64:
				v, _ = strconv.ParseInt(row[i], 10, 64)
			case c.Type == Decimal:
				whole, fraction, _ := strings.Cut(row[i], ".")
				v, _ = strconv.ParseInt(whole+fraction+"000000"[len(fraction):], 10, 64)
			case c.Type == Double:
				f, _ := strconv.ParseFloat(row[i], 64)
				v = int64(math.Float64bits(f))
			}
			c.values, c.texts, c.null = append(c.values, v), append(c.texts, row[i]),
				append(c.null, row[i] == "" && !c.Required)
		}
	}
	if !errors.Is(err, io.EOF) {
		b.Fatal(err)
	}
	return columns
}

// library is parquet-go's writer, given each column's values as it takes them fastest: in batches,
// column by column.
type library struct {
	schema *parquet.Schema
	leaf   []int             // by column of ours: that of the schema, which sorts them by name
	values [][]parquet.Value // by column of ours
	level  zstd.Level
}

func newLibrary(columns []cells, level zstd.Level) *library {
	group := parquet.Group{}
	for _, c := range columns {
		n := parquet.Leaf(logicalTypes[c.Type])
		if c.Type == Text || c.numbered() {
			n = parquet.Encoded(n, &parquet.RLEDictionary)
		}
		if !c.Required {
			n = parquet.Optional(n)
		}
		group[c.Name] = n
	}
	l := &library{schema: parquet.NewSchema("table", group), level: level}
	for _, c := range columns {
		leaf, _ := l.schema.Lookup(c.Name)
		values := make([]parquet.Value, len(c.null))
		for row := range values {
			level := 0
			if !c.Required && !c.null[row] {
				level = 1
			}
			values[row] = c.value(row).Level(0, level, leaf.ColumnIndex)
		}
		l.leaf, l.values = append(l.leaf, leaf.ColumnIndex), append(l.values, values)
	}
	return l
}

func (l *library) write(out io.Writer) error {
	w := parquet.NewGenericWriter[any](out, l.schema, parquet.Compression(&zstd.Codec{Level: l.level}),
		parquet.MaxRowsPerRowGroup(longestGroup),
		parquet.DataPageStatistics(false))
	for i, leaf := range l.leaf {
		c := w.ColumnWriters()[leaf]
		for rest := l.values[i]; len(rest) > 0; {
			n, err := c.WriteRowValues(rest[:min(len(rest), longestPage)])
			if err != nil {
				return err
			}
			rest = rest[n:]
		}
	}
	return w.Close()
}

// BenchmarkWriter writes typed columns that are in memory: with this package, and with parquet-go's
// writer at two levels of Zstandard. The figures in the package doc are its figures:
//
//	go test ./internal/parquet -run '^$' -bench Writer -cpu 1 -count 5
func BenchmarkWriter(b *testing.B) {
	shapes := bench.Shapes()
	for _, s := range []bench.Shape{shapes[1], shapes[3], shapes[5]} {
		s.Rows /= 10
		columns := answerCells(b, s)
		rows := int(s.Rows)
		cells := float64(rows * len(columns))
		var texts [][][]byte // as a caller has them
		for _, c := range columns {
			var all [][]byte
			for _, text := range c.texts {
				all = append(all, []byte(text))
			}
			texts = append(texts, all)
		}
		run := func(name string, write func(io.Writer) error) {
			b.Run(strings.ReplaceAll(s.Name, " ", "-")+"/"+name, func(b *testing.B) {
				var out bytes.Buffer
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				n, began := 0, cpuTime(b)
				for b.Loop() {
					out.Reset()
					if err := write(&out); err != nil {
						b.Fatal(err)
					}
					n++
				}
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(cpuTime(b)-began)/float64(n)/cells, "cpu-ns/cell")
				b.ReportMetric(float64(out.Len())/float64(rows), "bytes/row")
				b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(n), "allocs/file")
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(n)/(1<<20), "MiB/file")
			})
		}
		run("ours", func(out io.Writer) error { return writeTexts(out, columns, texts, rows) })
		run("parquet-go-fastest", newLibrary(columns, zstd.SpeedFastest).write)
		run("parquet-go-default", newLibrary(columns, zstd.SpeedDefault).write)
	}
}

// cpuTime is what this process has taken of a core, also beside others.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// writeTexts is write for speed: one row group, and texts that are bytes already.
func writeTexts(out io.Writer, columns []cells, texts [][][]byte, rows int) error {
	var schema []Column
	for _, c := range columns {
		schema = append(schema, c.Column)
	}
	w, err := NewWriter(schema, "zstd", "")
	if err != nil {
		return err
	}
	g := NewPool(schema, largestChunk, "").Group(make([]int, len(schema)))
	f := w.Create(out)
	for row := 0; row < rows; {
		n := min(g.Room(), rows-row)
		g.Begin(n)
		for i := range columns {
			c := &columns[i]
			if c.Type != Text {
				copy(g.Values(i)[:n], c.values[row:])
				for k := range n {
					if c.null[row+k] {
						g.SetNull(i, k)
					}
				}
				continue
			}
			t, ids := g.Texts(i)
			for k := range n {
				var ok bool
				if t.Raw() {
					ok = t.Append(texts[i][row+k])
				} else {
					ids[k], _, ok = t.ID(texts[i][row+k])
				}
				if !ok {
					return fmt.Errorf("row %d isn't taken", row+k)
				}
			}
		}
		if err := w.Commit(g, n); err != nil {
			return err
		}
		row += n
	}
	if err := f.Write(g); err != nil {
		return err
	}
	_, err = f.Close()
	return err
}
