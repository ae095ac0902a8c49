package pgsink

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"cloud.google.com/go/civil"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/reportferry/reportferry/sinks"
)

// An encoder appends a value that isn't NULL to the body of a COPY: its length in four bytes, and
// its bytes.
type encoder func(b []byte, v parquet.Value) ([]byte, error)

// sinceEpoch is the number of days between the two epochs: Postgres counts days and microseconds
// from 2000-01-01, and Parquet from 1970-01-01
// (https://www.postgresql.org/docs/current/datatype-datetime.html).
var sinceEpoch = int64(civil.Date{Year: 2000, Month: 1, Day: 1}.DaysSince(epoch))

// epoch is the day from which Parquet counts.
var epoch = civil.Date{Year: 1970, Month: 1, Day: 1}

// encoderOf returns the function that writes the values of a file's column. If its type isn't that
// of the table's definition, that is an error. Values of the column that determines the partition
// are checked against it, because a row of another partition would some day be there twice.
func encoderOf(c *parquet.Column, call *putCall) (encoder, error) {
	of := typeOf(call.part.Schema, c.Name())
	if of == "" {
		return nil, errors.New("the table's definition has no such column")
	}
	if !c.Leaf() || c.Type().Kind() != kinds[of] || !hasUnit(c.Type().LogicalType(), of) {
		return nil, fmt.Errorf("the file has %s where the definition says %s", c.Type(), of)
	}
	if c.Name() == call.part.Schema.On {
		return partitionEncoder(call.at, of), nil
	}
	return encoders[of], nil
}

// kinds are the physical types that Parquet files have for the column types.
var kinds = map[sinks.ColumnType]parquet.Kind{
	sinks.String: parquet.ByteArray, sinks.Date: parquet.Int32, sinks.DateTime: parquet.Int64,
	sinks.Instant: parquet.Int64,
	sinks.Int64:   parquet.Int64, sinks.Decimal: parquet.Int64, sinks.Double: parquet.Double,
}

// hasUnit reports whether a logical type has the unit that the functions in encoders expect.
func hasUnit(t *format.LogicalType, column sinks.ColumnType) bool {
	if column != sinks.Decimal && column != sinks.DateTime && column != sinks.Instant {
		return true
	}
	if t == nil {
		return false
	}
	switch l := t.Value.(type) {
	case *format.DecimalType:
		return column == sinks.Decimal && l.Scale == 6
	case *format.TimestampType:
		return column != sinks.Decimal && l.Unit.Value.Duration() == time.Microsecond
	}
	return false
}

// encoders has the function that writes values of each column type.
var encoders = map[sinks.ColumnType]encoder{
	sinks.String: func(b []byte, v parquet.Value) ([]byte, error) {
		text := v.ByteArray()
		if bytes.IndexByte(text, 0) >= 0 {
			return b, fmt.Errorf("%q has the character U+0000, which no text in Postgres can have", text)
		}
		return append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...), nil
	},
	sinks.Date:     func(b []byte, v parquet.Value) ([]byte, error) { return appendDate(b, v.Int32()), nil },
	sinks.DateTime: func(b []byte, v parquet.Value) ([]byte, error) { return appendTime(b, v.Int64()), nil },
	sinks.Instant:  func(b []byte, v parquet.Value) ([]byte, error) { return appendTime(b, v.Int64()), nil },
	sinks.Int64:    func(b []byte, v parquet.Value) ([]byte, error) { return append8(b, uint64(v.Int64())), nil },
	sinks.Double: func(b []byte, v parquet.Value) ([]byte, error) {
		return append8(b, math.Float64bits(v.Double())),
			nil
	},
	sinks.Decimal: func(b []byte, v parquet.Value) ([]byte, error) { return appendNumeric(b, v.Int64()), nil },
}

// partitionEncoder returns the function for the column that determines the partition. It refuses a
// value outside of the partition.
func partitionEncoder(at place, column sinks.ColumnType) encoder {
	first, end := int64(at.first.DaysSince(epoch)), int64(at.end.DaysSince(epoch))
	return func(b []byte, v parquet.Value) ([]byte, error) {
		day := int64(v.Int32())
		if column == sinks.DateTime {
			day = floorDiv(v.Int64(), microsPerSecond*24*60*60)
		}
		if day < first || day >= end {
			return b, fmt.Errorf("%s isn't in the partition, which goes from %s until before %s",
				epoch.AddDays(int(day)), at.first, at.end)
		}
		return encoders[column](b, v)
	}
}

// floorDiv returns a/b, rounded down.
func floorDiv(a, b int64) int64 { return (a - (a%b+b)%b) / b }

// append8 appends a field of eight bytes.
func append8(b []byte, v uint64) []byte {
	return binary.BigEndian.AppendUint64(append(b, 0, 0, 0, 8), v)
}

// appendDate appends a date, which a file gives in days since epoch.
func appendDate(b []byte, days int32) []byte {
	return binary.BigEndian.AppendUint32(append(b, 0, 0, 0, 4), uint32(int64(days)-sinceEpoch))
}

// appendTime appends a timestamp, which a file gives in microseconds since epoch.
func appendTime(b []byte, micros int64) []byte {
	return append8(b, uint64(micros-sinceEpoch*24*60*60*microsPerSecond))
}

// numericGroups is how many groups of four digits an int64 of millionths has: four before the point
// and two behind it.
const numericGroups = 6

// appendNumeric appends millionths as a numeric of six decimals: the number of groups of four
// digits, the weight of the first group, the sign, the number of decimals, and the groups
// (numeric_send in src/backend/utils/adt/numeric.c). Groups of zeros at either end are left out.
func appendNumeric(b []byte, millionths int64) []byte {
	var groups [numericGroups]uint16
	size, sign := uint64(millionths), uint16(0)
	if millionths < 0 {
		size, sign = -size, 0x4000
	}
	// Split the number into groups of four digits. The last two are behind the point.
	whole, behind := size/1e6, size%1e6*100 // behind has eight digits: six of the file, and two zeros
	groups[5], groups[4] = uint16(behind%1e4), uint16(behind/1e4)
	for i := 3; i >= 0; i-- {
		groups[i], whole = uint16(whole%1e4), whole/1e4
	}
	// Leave out the groups of zeros at either end.
	first, end := 0, numericGroups
	for end > 0 && groups[end-1] == 0 {
		end--
	}
	for first < end && groups[first] == 0 {
		first++
	}
	weight := 3 - first
	if first == end {
		weight = 0
	}
	n := end - first
	b = binary.BigEndian.AppendUint32(b, uint32(8+2*n))
	for _, part := range []uint16{uint16(n), uint16(int16(weight)), sign, 6} {
		b = binary.BigEndian.AppendUint16(b, part)
	}
	for _, g := range groups[first:end] {
		b = binary.BigEndian.AppendUint16(b, g)
	}
	return b
}
