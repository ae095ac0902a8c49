//go:build !fuzz

package table

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/reportferry/reportferry/internal/catalog"
)

const null = "\x00null" // no cell of a test is this

// reading is a part as another implementation reads it.
type reading struct {
	schema    *arrow.Schema
	required  []bool
	metadata  map[string]string
	rowGroups int
	rows      [][]string // days, microseconds, counts and millionths as whole numbers, doubles as short as can be
}

// readPart reads a part with arrow-go, row group by row group, and holds the statistics of each
// against its values.
func readPart(t testing.TB, p Part, columns []Column) reading {
	t.Helper()
	r, err := readFile(p, columns)
	if err != nil {
		t.Fatalf("read back %s: %v", p.Path, err)
	}
	return r
}

func readFile(p Part, columns []Column) (r reading, err error) {
	f, err := file.OpenParquetFile(p.Path, false)
	if err != nil {
		return r, err
	}
	defer func() { _ = f.Close() }()
	if f.NumRows() != p.Rows {
		return r, fmt.Errorf("%d rows, the part says %d", f.NumRows(), p.Rows)
	}
	arrowReader, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, arrowmemory.DefaultAllocator)
	if err != nil {
		return r, err
	}
	if r.schema, err = arrowReader.Schema(); err != nil {
		return r, err
	}
	for i := range columns {
		r.required = append(r.required, f.MetaData().Schema.Column(i).SchemaNode().RepetitionType() ==
			parquet.Repetitions.Required)
	}
	r.metadata = map[string]string{}
	for _, kv := range f.MetaData().KeyValueMetadata() {
		r.metadata[strings.TrimPrefix(kv.Key, "reportferry.")] = *kv.Value
	}
	r.rowGroups = f.NumRowGroups()
	for g := range r.rowGroups {
		table, err := arrowReader.ReadRowGroups(context.Background(), allColumns(columns), []int{g})
		if err != nil {
			return r, err
		}
		rows := make([][]string, table.NumRows())
		for i := range rows {
			rows[i] = make([]string, len(columns))
		}
		for i := range columns {
			row := 0
			for _, chunk := range table.Column(i).Data().Chunks() {
				for k := range chunk.Len() {
					if rows[row][i], err = valueText(chunk, k); err != nil {
						return r, err
					}
					row++
				}
			}
			md, err := f.MetaData().RowGroup(g).ColumnChunk(i)
			if err != nil {
				return r, err
			}
			if err := checkStatistics(md, rows, i, columns[i]); err != nil {
				return r, fmt.Errorf("row group %d: column %s: %w", g, columns[i].Name, err)
			}
		}
		table.Release()
		r.rows = append(r.rows, rows...)
	}
	return r, nil
}

func allColumns(columns []Column) (all []int) {
	for i := range columns {
		all = append(all, i)
	}
	return all
}

func valueText(a arrow.Array, i int) (string, error) {
	if a.IsNull(i) {
		return null, nil
	}
	switch a := a.(type) {
	case *array.String:
		return a.Value(i), nil
	case *array.Date32:
		return strconv.Itoa(int(a.Value(i))), nil
	case *array.Timestamp:
		return strconv.FormatInt(int64(a.Value(i)), 10), nil
	case *array.Int64:
		return strconv.FormatInt(a.Value(i), 10), nil
	case *array.Float64:
		return strconv.FormatFloat(a.Value(i), 'g', -1, 64), nil
	case *array.Decimal128:
		return a.Value(i).BigInt().String(), nil
	}
	return "", fmt.Errorf("unexpected type %s", a.DataType())
}

// checkStatistics holds bounds and NULL count of a column chunk against the values: a reader skips
// row groups by them.
func checkStatistics(md *metadata.ColumnChunkMetaData, rows [][]string, i int, c Column) error {
	stats, err := md.Statistics()
	if err != nil || stats == nil {
		return fmt.Errorf("no statistics: %w", err)
	}
	var values []string
	for _, row := range rows {
		if row[i] != null {
			values = append(values, row[i])
		}
	}
	if !stats.HasNullCount() || stats.NullCount() != int64(len(rows)-len(values)) {
		return fmt.Errorf("NULL count %d of %d rows with %d values", stats.NullCount(), len(rows), len(values))
	}
	longest := 0
	if c.Type == catalog.String && len(values) > 0 {
		longest = len(slices.Min(values)) + len(slices.Max(values))
	}
	if stats.HasMinMax() != (len(values) > 0 && longest <= 4096) {
		return fmt.Errorf("bounds %v with %d values, of up to %d bytes", stats.HasMinMax(), len(values), longest)
	}
	if !stats.HasMinMax() {
		return nil
	}
	return sameBounds(c.Type, values, stats.EncodeMin(), stats.EncodeMax())
}

func compareText(t catalog.Type, a, b string) int {
	if t == catalog.String {
		return bytes.Compare([]byte(a), []byte(b))
	}
	if t == catalog.Double {
		x, _ := strconv.ParseFloat(a, 64)
		y, _ := strconv.ParseFloat(b, 64)
		return int(math.Copysign(1, x-y)) * btoi(x != y)
	}
	x, _ := strconv.ParseInt(a, 10, 64)
	y, _ := strconv.ParseInt(b, 10, 64)
	return btoi(x > y) - btoi(x < y)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// boundText reads a bound as Parquet writes it: PLAIN, little endian.
func boundText(t catalog.Type, b []byte) string {
	switch {
	case t == catalog.String:
		return string(b)
	case t.IsDate():
		return strconv.Itoa(int(int32(binary.LittleEndian.Uint32(b))))
	case t == catalog.Double:
		return strconv.FormatFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)), 'g', -1, 64)
	}
	return strconv.FormatInt(int64(binary.LittleEndian.Uint64(b)), 10)
}

// measure reads a part's file by Measure.
func measure(p Part, columns []Column) (rows int64, hash string, err error) {
	f, err := os.Open(p.Path)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = f.Close() }()
	return Measure(context.Background(), f, p.Size, columns)
}
