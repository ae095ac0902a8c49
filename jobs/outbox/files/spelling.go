package files

import (
	"encoding/hex"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// textOf returns the function that converts a column's values to text, so that they are checked
// like those of a text file. A DOUBLE becomes the shortest decimal that stands for it.
func textOf(t parquet.Type) func(parquet.Value) string {
	plain := plainOf(t)
	return func(v parquet.Value) string {
		if v.IsNull() {
			return ""
		}
		return plain(v)
	}
}

// isText reports whether a column's values are text. The spelling of a text depends on its writer;
// that of a typed value doesn't.
func isText(t parquet.Type) bool {
	if l := t.LogicalType(); l != nil {
		switch l.Value.(type) {
		case *format.StringType, *format.EnumType, *format.JsonType:
			return true
		}
		return false
	}
	return t.Kind() == parquet.ByteArray
}

// plainOf does what textOf does, for values that aren't null.
func plainOf(t parquet.Type) func(parquet.Value) string {
	if l := t.LogicalType(); l != nil {
		switch l := l.Value.(type) {
		case *format.DecimalType:
			return decimalOf(t.Kind(), int(l.Scale))
		case *format.DateType:
			return func(v parquet.Value) string {
				return time.Unix(int64(v.Int32())*86400,
					0).UTC().Format(time.DateOnly)
			}
		case *format.TimestampType:
			return timestampOf(l)
		case *format.UUIDType:
			return func(v parquet.Value) string { return uuidText(v.ByteArray()) }
		case *format.IntType:
			if !l.IsSigned {
				return unsignedOf(t.Kind())
			}
		}
	}
	switch t.Kind() {
	case parquet.Boolean:
		return func(v parquet.Value) string { return strconv.FormatBool(v.Boolean()) }
	case parquet.Int32:
		return func(v parquet.Value) string { return strconv.Itoa(int(v.Int32())) }
	case parquet.Int64:
		return func(v parquet.Value) string { return strconv.FormatInt(v.Int64(), 10) }
	case parquet.Int96:
		return func(v parquet.Value) string { return int96Text(v.Int96().Int64(), v.Int96()[2]) }
	case parquet.Float:
		return func(v parquet.Value) string { return strconv.FormatFloat(float64(v.Float()), 'f', -1, 32) }
	case parquet.Double:
		return func(v parquet.Value) string { return strconv.FormatFloat(v.Double(), 'f', -1, 64) }
	}
	return func(v parquet.Value) string { return string(v.ByteArray()) }
}

// unsignedOf returns the function that writes whole numbers without a sign.
func unsignedOf(k parquet.Kind) func(parquet.Value) string {
	if k == parquet.Int32 {
		return func(v parquet.Value) string { return strconv.FormatUint(uint64(v.Uint32()), 10) }
	}
	return func(v parquet.Value) string { return strconv.FormatUint(v.Uint64(), 10) }
}

// decimalOf returns the function that writes whole numbers as decimals, with scale digits after the
// point.
func decimalOf(k parquet.Kind, scale int) func(parquet.Value) string {
	return func(v parquet.Value) string {
		var digits string
		switch k {
		case parquet.Int32:
			digits = strconv.Itoa(int(v.Int32()))
		case parquet.Int64:
			digits = strconv.FormatInt(v.Int64(), 10)
		default: // two's complement, the highest byte first
			data := v.ByteArray()
			if len(data) > 32 { // 76 digits
				return "(a decimal of more than 32 bytes)"
			}
			n := new(big.Int).SetBytes(data)
			if len(data) > 0 && data[0] >= 0x80 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(len(data)*8)))
			}
			digits = n.String()
		}
		digits, negative := strings.CutPrefix(digits, "-")
		if scale > 0 && scale < 100 {
			if len(digits) <= scale {
				digits = strings.Repeat("0", scale+1-len(digits)) + digits
			}
			digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
		}
		if negative {
			return "-" + digits
		}
		return digits
	}
}

// timestampOf returns the function that writes times as the text formats do: without a zone when
// the column has none.
func timestampOf(t *format.TimestampType) func(parquet.Value) string {
	layout := "2006-01-02T15:04:05.999999999"
	if t.IsAdjustedToUTC {
		layout = time.RFC3339Nano
	}
	unit := time.Nanosecond
	if t.Unit.Value != nil {
		unit = t.Unit.Value.Duration()
	}
	perSecond := int64(time.Second / unit)
	return func(v parquet.Value) string {
		n := v.Int64()
		return time.Unix(n/perSecond, n%perSecond*int64(unit)).UTC().Format(layout)
	}
}

// int96Text returns a time that is stored as older writers do: as nanoseconds of a Julian day.
func int96Text(nanoseconds int64, day uint32) string {
	const epoch = 2440588 // Julian day of 1970-01-01
	return time.Unix((int64(day)-epoch)*86400, nanoseconds).UTC().Format(time.RFC3339Nano)
}

// uuidText returns a UUID of 16 bytes in its usual form, and anything else unchanged.
func uuidText(b []byte) string {
	if len(b) != 16 {
		return string(b)
	}
	s := hex.EncodeToString(b)
	return strings.Join([]string{s[:8], s[8:12], s[12:16], s[16:20], s[20:]}, "-")
}
