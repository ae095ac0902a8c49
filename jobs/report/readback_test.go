package report_test

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// A readTable is a Parquet file as text, read by a library that isn't the one that wrote it.
type readTable struct {
	names []string
	kinds []arrow.Type
	rows  [][]string
	meta  map[string]string
}

func readParquet(t testing.TB, path string) readTable {
	t.Helper()
	f, err := file.OpenParquetFile(path, false)
	check(t, err)
	defer func() { check(t, f.Close()) }()
	reader, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	check(t, err)
	tab, err := reader.ReadTable(context.Background())
	check(t, err)
	defer tab.Release()
	out := readTable{rows: make([][]string, tab.NumRows()), meta: map[string]string{}}
	for _, kv := range f.MetaData().KeyValueMetadata() {
		out.meta[strings.TrimPrefix(kv.Key, "reportferry.")] = kv.GetValue()
		if !strings.HasPrefix(kv.Key, "reportferry.") {
			t.Errorf("%s: metadata %s has no prefix", path, kv.Key)
		}
	}
	for c := range int(tab.NumCols()) {
		field := tab.Schema().Field(c)
		out.names, out.kinds = append(out.names, field.Name), append(out.kinds, field.Type.ID())
		row := 0
		for _, chunk := range tab.Column(c).Data().Chunks() {
			for i := range chunk.Len() {
				out.rows[row] = append(out.rows[row], cellText(t, chunk, i))
				row++
			}
		}
	}
	return out
}

func cellText(t testing.TB, a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "NULL"
	}
	switch a := a.(type) {
	case *array.String:
		return a.Value(i)
	case *array.Int64:
		return strconv.FormatInt(a.Value(i), 10)
	case *array.Float64:
		return strconv.FormatFloat(a.Value(i), 'g', -1, 64)
	case *array.Date32:
		return a.Value(i).FormattedString()
	case *array.Decimal128:
		return a.Value(i).ToString(6)
	case *array.Timestamp:
		return a.Value(i).ToTime(arrow.Microsecond).Format("2006-01-02T15:04:05")
	}
	t.Fatalf("a column of type %v", a.DataType())
	return ""
}

// sameRows compares a partition with the service's own rows, in any order, cell by cell.
func sameRows(t testing.TB, day civil.Date, got readTable, header []string, want [][]string) int {
	t.Helper()
	if !slices.Equal(got.names, header) {
		t.Fatalf("%s: columns %v, want %v", day, got.names, header)
	}
	wanted := make([]string, len(want))
	for i, row := range want {
		typed := make([]string, len(row))
		for c, cell := range row {
			typed[c] = typedText(t, got.kinds[c], cell)
		}
		wanted[i] = strings.Join(typed, "\x00")
	}
	found := make([]string, len(got.rows))
	for i, row := range got.rows {
		found[i] = strings.Join(row, "\x00")
	}
	slices.Sort(wanted)
	slices.Sort(found)
	if !slices.Equal(found, wanted) {
		for i := range max(len(found), len(wanted)) {
			if i >= len(found) || i >= len(wanted) || found[i] != wanted[i] {
				t.Errorf("%s: %d rows, want %d; the first that differs: %q, want %q", day, len(found), len(wanted),
					at(found, i), at(wanted, i))
				break
			}
		}
	}
	return len(want) * len(header)
}

func at(rows []string, i int) string {
	if i < len(rows) {
		return rows[i]
	}
	return "(none)"
}

// typedText is what a CSV cell means in a column of that type, worked out with exact fractions.
func typedText(t testing.TB, kind arrow.Type, cell string) string {
	t.Helper()
	switch kind {
	case arrow.INT64, arrow.FLOAT64, arrow.DECIMAL128:
		if slices.Contains([]string{"", "null", "NaN"}, cell) {
			return "NULL"
		}
	}
	switch kind {
	case arrow.INT64:
		r, ok := new(big.Rat).SetString(cell)
		if !ok || !r.IsInt() {
			t.Fatalf("%q is no whole number", cell)
		}
		return r.Num().String()
	case arrow.FLOAT64:
		f, err := strconv.ParseFloat(cell, 64)
		check(t, err)
		return strconv.FormatFloat(f, 'g', -1, 64)
	case arrow.DECIMAL128:
		return sixDecimals(t, cell)
	case arrow.DATE32:
		return firstDay(t, cell)
	}
	return cell
}

// firstDay is the first day of a period as the service writes it.
func firstDay(t testing.TB, cell string) string {
	t.Helper()
	first, _, _ := strings.Cut(cell, " - ") // a week
	var quarter, year int
	if n, _ := fmt.Sscanf(cell, "Q%d %d", &quarter, &year); n == 2 {
		first = fmt.Sprintf("%04d-%02d", year, 3*quarter-2)
	}
	for _, layout := range []string{"2006-01-02", "2006-01", "2006"} {
		if d, err := time.Parse(layout, first); err == nil {
			return d.Format(time.DateOnly)
		}
	}
	t.Fatalf("%q is no period", cell)
	return ""
}

// sixDecimals rounds half to even.
func sixDecimals(t testing.TB, cell string) string {
	t.Helper()
	r, ok := new(big.Rat).SetString(cell)
	if !ok {
		t.Fatalf("%q is no number", cell)
	}
	scaled := new(big.Rat).Mul(r, big.NewRat(1_000_000, 1))
	// Euclidean: towards minus infinity for positive denominators.
	floor := new(big.Int).Div(scaled.Num(), scaled.Denom())
	rest := new(big.Rat).Sub(scaled, new(big.Rat).SetInt(floor))
	switch rest.Cmp(big.NewRat(1, 2)) {
	case 1:
		floor.Add(floor, big.NewInt(1))
	case 0:
		if floor.Bit(0) == 1 {
			floor.Add(floor, big.NewInt(1))
		}
	}
	text := new(big.Rat).SetFrac(floor, big.NewInt(1_000_000)).FloatString(6)
	if text == "-0.000000" {
		text = "0.000000"
	}
	return text
}

func TestSixDecimals(t *testing.T) {
	for cell, want := range map[string]string{
		"1": "1.000000", "0.0000005": "0.000000", "0.0000015": "0.000002", "-0.0000015": "-0.000002",
		"2.3456789":  "2.345679",
		"-0.0000005": "0.000000", "1e3": "1000.000000",
	} {
		if got := sixDecimals(t, cell); got != want {
			t.Errorf("%s: %s, want %s", cell, got, want)
		}
	}
}
