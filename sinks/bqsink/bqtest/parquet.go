package bqtest

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// A source is the content of one file. Parquet is read by Arrow's reader and not by the package
// that writes the project's files, so that one misreading of the format can't hide in both.
type source struct {
	name    string // its URI; empty for an upload
	size    int64
	rows    int
	columns []sourceColumn
}

// A sourceColumn is one column of a file.
type sourceColumn struct {
	name     string
	kind     string // one of this package's column types
	required bool   // the file's schema says that it has no NULL
	values   []any  // as rows hold them
}

// readParquet reads a Parquet file. decimals are the types that decimals may become.
func readParquet(ctx context.Context, name string, content []byte, decimals []string) (*source, error) {
	reader, err := file.NewParquetReader(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("not a Parquet file: %w", err)
	}
	defer func() { _ = reader.Close() }()
	arrows, err := pqarrow.NewFileReader(reader, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	data, err := arrows.ReadTable(ctx)
	if err != nil {
		return nil, err
	}
	defer data.Release()
	src := &source{name: name, size: int64(len(content)), rows: int(data.NumRows())}
	for i := range int(data.NumCols()) {
		column := data.Column(i)
		field := column.Field()
		c := sourceColumn{name: field.Name, required: !field.Nullable}
		var take func(arrow.Array, int) (any, error)
		if c.kind, take, err = conversion(field.Type, decimals); err != nil {
			return nil, fmt.Errorf("column '%s' %w", field.Name, err)
		}
		c.values = make([]any, 0, src.rows)
		for _, chunk := range column.Data().Chunks() {
			for j := range chunk.Len() {
				if chunk.IsNull(j) {
					c.values = append(c.values, nil)
					continue
				}
				v, err := take(chunk, j)
				if err != nil {
					return nil, fmt.Errorf("column '%s', row %d: %w", field.Name, len(c.values)+1, err)
				}
				c.values = append(c.values, v)
			}
		}
		src.columns = append(src.columns, c)
	}
	return src, nil
}

// conversion returns the column type that a Parquet type is loaded as, and a function that reads a
// value.
// https://cloud.google.com/bigquery/docs/loading-data-cloud-storage-parquet#parquet_conversions
func conversion(t arrow.DataType, decimals []string) (string, func(arrow.Array, int) (any, error), error) {
	switch t := t.(type) {
	case *arrow.Int64Type:
		return typeInteger, func(a arrow.Array, i int) (any, error) { return a.(*array.Int64).Value(i), nil }, nil
	case *arrow.Int32Type:
		return typeInteger, func(a arrow.Array, i int) (any, error) { return int64(a.(*array.Int32).Value(i)), nil },
			nil
	case *arrow.Float64Type:
		return typeFloat, func(a arrow.Array, i int) (any, error) { return a.(*array.Float64).Value(i), nil }, nil
	case *arrow.Float32Type:
		return typeFloat, func(a arrow.Array, i int) (any, error) { return float64(a.(*array.Float32).Value(i)), nil },
			nil
	case *arrow.BooleanType:
		return typeBool, func(a arrow.Array, i int) (any, error) { return a.(*array.Boolean).Value(i), nil }, nil
	case *arrow.StringType:
		return typeString, func(a arrow.Array, i int) (any, error) {
			return strings.Clone(a.(*array.String).Value(i)),
				nil
		}, nil
	case *arrow.Date32Type:
		return typeDate, func(a arrow.Array, i int) (any, error) {
			return dateText(a.(*array.Date32).Value(i).ToTime())
		}, nil
	case *arrow.TimestampType:
		return timestampConversion(t)
	case *arrow.Decimal128Type:
		kind := decimalTarget(t.Precision, t.Scale, decimals)
		scale := t.Scale
		return kind, func(a arrow.Array, i int) (any, error) {
			text := a.(*array.Decimal128).Value(i).ToString(scale)
			if kind == typeNumeric {
				return numericText(text)
			}
			return text, nil
		}, nil
	}
	return "", nil, fmt.Errorf("has the Arrow type %s, which bqtest doesn't read", t)
}

// timestampConversion is conversion for a timestamp: with a zone a TIMESTAMP, without a DATETIME.
func timestampConversion(t *arrow.TimestampType) (string, func(arrow.Array, int) (any, error), error) {
	if t.Unit == arrow.Nanosecond {
		return "", nil, fmt.Errorf("has type TIMESTAMP(NANOS), which can't be loaded")
	}
	if t.TimeZone != "" { // isAdjustedToUTC
		return typeTimestamp, func(a arrow.Array, i int) (any, error) {
			return a.(*array.Timestamp).Value(i).ToTime(t.Unit).UnixMicro(), nil
		}, nil
	}
	return typeDateTime, func(a arrow.Array, i int) (any, error) {
		at := a.(*array.Timestamp).Value(i).ToTime(t.Unit)
		if _, err := dateText(at); err != nil {
			return nil, err
		}
		return at.Format("2006-01-02T15:04:05.999999"), nil
	}, nil
}

// dateText returns a DATE as text. BigQuery has the years 1 to 9999.
func dateText(at time.Time) (any, error) {
	if y := at.Year(); y < 1 || y > 9999 {
		return nil, fmt.Errorf("the year %d is outside 1 to 9999", y)
	}
	return at.Format("2006-01-02"), nil
}

// decimalTarget returns the first of the wanted types, in BigQuery's order, that holds the
// precision and scale.
// https://cloud.google.com/bigquery/docs/reference/rest/v2/Job#JobConfigurationLoad.FIELDS.decimal_target_types
func decimalTarget(precision, scale int32, wanted []string) string {
	if len(wanted) == 0 {
		return typeNumeric
	}
	asked := map[string]bool{}
	for _, w := range wanted {
		asked[w] = true
	}
	widest := typeNumeric
	for _, t := range []struct {
		name            string
		integers, scale int32
	}{{typeNumeric, 29, 9}, {"BIGNUMERIC", 38, 38}, {typeString, 1 << 20, 1 << 20}} {
		if !asked[t.name] {
			continue
		}
		widest = t.name
		if precision-scale <= t.integers && scale <= t.scale {
			return t.name
		}
	}
	return widest
}

// numericLimit is above every NUMERIC, which has 29 digits before the point and 9 after it.
var numericLimit = new(big.Int).Exp(big.NewInt(10), big.NewInt(29), nil)

// numericText returns a NUMERIC as BigQuery prints it, without zeros at the end. A number that
// doesn't fit is an error.
func numericText(text string) (any, error) {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, fmt.Errorf("%q is not a number", text)
	}
	short := r.FloatString(9)
	back, _ := new(big.Rat).SetString(short)
	if back.Cmp(r) != 0 || new(big.Rat).Abs(r).Cmp(new(big.Rat).SetInt(numericLimit)) >= 0 {
		return nil, fmt.Errorf("%s is out of range of NUMERIC", r.RatString())
	}
	return strings.TrimSuffix(strings.TrimRight(short, "0"), "."), nil
}
