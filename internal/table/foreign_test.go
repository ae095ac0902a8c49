//go:build !fuzz

package table

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/parquet"
	"github.com/reportferry/reportferry/internal/slow"
)

var (
	seedFlag = flag.Uint64("seed", 1, "seed of the drawn tables and numbers")
	count    = flag.Int("n", 20, "how many tables are drawn, and thousands of numbers")
	mostRows = flag.Int("rows", 20_000, "rows of the largest drawn table")
)

// Drawn tables, as arrow-go reads them, are what the cells said, and every page and index of their
// files is as the format asks. With -sample, the files stay there with the truth beside each as an
// Arrow file, for readers outside of Go.
func TestSampleOfDrawnTables(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	t.Logf("%d tables, seed %d", *count, *seedFlag)
	dir := *sample
	if dir == "" {
		dir = t.TempDir()
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for n := range *count {
		r := rand.New(rand.NewPCG(*seedFlag, uint64(n)))
		drawn := drawTable(r, *mostRows)
		o := drawn.options(r, dir)
		o.Pages = []string{"v2", "v1"}[n%2] // both for every reader
		parts, err := convert(o, bytes.NewReader(drawn.csv()))
		if err != nil {
			t.Fatalf("table %d: %v", n, err)
		}
		rows := make([][]int, len(parts))
		for row, at := range drawn.part {
			rows[at] = append(rows[at], row)
		}
		for i, p := range parts {
			if err := drawn.check(p, o, rows[i]); err != nil {
				t.Fatalf("table %d, seed %d, part %d: %v", n, *seedFlag, i, err)
			}
			if *sample == "" {
				_ = os.Remove(p.Path)
				continue
			}
			name := filepath.Join(dir, fmt.Sprintf("%05d-%02d", n, i))
			if err := drawn.leave(name+".arrow", rows[i]); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(p.Path, name+".parquet"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (t *drawnTable) check(p Part, o Options, rows []int) error {
	got, err := readFile(p, o.Columns)
	if err != nil {
		return err
	}
	if len(got.rows) != len(rows) {
		return fmt.Errorf("%d rows, want %d", len(got.rows), len(rows))
	}
	for k, row := range rows {
		for i := range t.columns {
			if want := t.columns[i].text(row); got.rows[k][i] != want {
				return fmt.Errorf("row %d, column %d (%s): %.50q, want %.50q", k, i, o.Columns[i].Type, got.rows[k][i],
					want)
			}
		}
	}
	if n, hash, err := measure(p, o.Columns); err != nil || n != p.Rows || hash != p.Hash {
		return fmt.Errorf("measured %d rows and %s (%w), want %d and %s", n, hash, err, p.Rows, p.Hash)
	}
	return checkLayout(p.Path, o.Pages, o.Columns, got.rows)
}

// leave writes the truth about a part.
func (t *drawnTable) leave(path string, rows []int) error {
	var fields []arrow.Field
	for _, c := range t.columns {
		fields = append(fields, arrow.Field{Name: c.Name, Type: arrowType(c.Type), Nullable: !c.Dimension})
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, schema)
	defer b.Release()
	for i := range t.columns {
		for _, row := range rows {
			t.columns[i].append(b.Field(i), row)
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(schema))
	if err == nil {
		err = w.Write(b.NewRecordBatch())
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = f.Close()
	}
	return err
}

func arrowType(t catalog.Type) arrow.DataType {
	switch {
	case t == catalog.String:
		return arrow.BinaryTypes.String
	case t.IsDate():
		return arrow.FixedWidthTypes.Date32
	case t == catalog.Hour:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case t == catalog.Decimal:
		return &arrow.Decimal128Type{Precision: parquet.DecimalPrecision, Scale: decimalScale}
	case t == catalog.Double:
		return arrow.PrimitiveTypes.Float64
	}
	return arrow.PrimitiveTypes.Int64
}

func (c *drawnColumn) append(b array.Builder, row int) {
	if c.null[row] {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.StringBuilder:
		b.Append(c.texts[row])
	case *array.Date32Builder:
		b.Append(arrow.Date32(c.values[row]))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(c.values[row]))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(c.values[row]))
	case *array.Float64Builder:
		b.Append(math.Float64frombits(uint64(c.values[row])))
	case *array.Int64Builder:
		b.Append(c.values[row])
	}
}
