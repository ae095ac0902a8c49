package icesink

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/iceberg-go"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/reportferry/reportferry/sinks/sinktest"
)

// No value of a file is outside its bounds, so that no reader leaves out a file that has rows for
// it. Numbers are bounded exactly.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.SampledFrom([]rune{'a', 'é', 0xD7FF, 0xE000,
			utf8.MaxRune, '漢'}), 0, 40, -1))
		var rows []testRow
		for range rapid.IntRange(1, 20).Draw(t, "rows") {
			row := testRow{Day: int32(date(day).DaysSince(epoch)), Campaign: texts.Draw(t, "campaign")}
			row.Ratio = rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, "ratio")
			if rapid.Bool().Draw(t, "there") {
				n, m := rapid.Int64().Draw(t, "installs"), rapid.Int64Range(-999_999_999_999_999_999,
					999_999_999_999_999_999).Draw(t, "cost")
				row.Installs, row.Cost = &n, &m
			}
			rows = append(rows, row)
		}
		schema := fields(testSchema())
		source, err := openPart(sinktest.FilePart(day, testSchema(), rows, parquet.MaxRowsPerRowGroup(3)))
		if err != nil {
			t.Fatal(err)
		}
		spec, err := partitioning(testSchema(), schema)
		if err != nil {
			t.Fatal(err)
		}
		file, err := source.dataFile(place{"installs", date(day)}, "s3://b/f", 1000, spec, schema)
		if err != nil {
			t.Fatal(err)
		}
		low, high := file.LowerBoundValues(), file.UpperBoundValues()
		for _, row := range rows {
			between(t, low[1], high[1], iceberg.PrimitiveTypes.Date, int64(row.Day))
			if c := []byte(row.Campaign); bytes.Compare(low[2], c) > 0 || high[2] != nil &&
				bytes.Compare(high[2], c) < 0 {
				t.Fatalf("%q isn't between %q and %q", c, low[2], high[2])
			}
			if n := utf8.RuneCount(low[2]); n > longestBound || utf8.RuneCount(high[2]) > longestBound ||
				!utf8.Valid(high[2]) && utf8.ValidString(row.Campaign) {
				t.Fatalf("bounds are %q and %q", low[2], high[2])
			}
			if row.Installs != nil {
				between(t, low[3], high[3], iceberg.PrimitiveTypes.Int64, *row.Installs)
				between(t, low[4], high[4], iceberg.DecimalTypeOf(18, 6), *row.Cost)
			}
			if row.Ratio != 0 { // a zero is written as NULL here, which no bound is about
				if a, b := double(t, low[5]), double(t, high[5]); row.Ratio < a || row.Ratio > b {
					t.Fatalf("%g isn't between %g and %g", row.Ratio, a, b)
				}
			}
		}
		if file.Count() != int64(len(rows)) || file.ValueCounts()[2] != int64(len(rows)) || file.ColumnSizes()[2] == 0 {
			t.Fatalf("%d rows, %v values", file.Count(), file.ValueCounts())
		}
	})
}

// between reads bounds by the library, which is how readers in Go do.
func between(t *rapid.T, low, high []byte, of iceberg.Type, v int64) {
	a, b := whole(t, low, of), whole(t, high, of)
	if v < a || v > b {
		t.Fatalf("%d isn't between %d and %d", v, a, b)
	}
}

func whole(t *rapid.T, b []byte, of iceberg.Type) int64 {
	l, err := iceberg.LiteralFromBytes(of, b)
	if err != nil {
		t.Fatal(err)
	}
	switch l := l.(type) {
	case iceberg.DateLiteral:
		return int64(l)
	case iceberg.Int64Literal:
		return int64(l)
	case iceberg.DecimalLiteral:
		return l.Val.BigInt().Int64()
	}
	t.Fatalf("a bound is a %T", l)
	return 0
}

func double(t *rapid.T, b []byte) float64 {
	l, err := iceberg.LiteralFromBytes(iceberg.PrimitiveTypes.Float64, b)
	if err != nil {
		t.Fatal(err)
	}
	return float64(l.(iceberg.Float64Literal))
}

// A text that is too long for a bound is cut, and what it is cut to isn't below it.
func TestCutAbove(t *testing.T) {
	sixteen := strings.Repeat("x", 15)
	for text, want := range map[string]string{
		"short": "short", sixteen + "y": sixteen + "y", sixteen + "yz": sixteen + "z",
		sixteen + "\uD7FF!":                      sixteen + "\uE000",
		sixteen + string(utf8.MaxRune) + "!":     strings.Repeat("x", 14) + "y",
		strings.Repeat(string(utf8.MaxRune), 17): "",
	} {
		if got := cutAbove([]byte(text)); string(got) != want || string(got) != "" && string(got) < text {
			t.Errorf("%q is cut to %q, want %q", text, got, want)
		}
	}
	if got := string(cut([]byte(sixteen + "éé"))); got != sixteen+"é" {
		t.Errorf("cut to %q", got)
	}
}
