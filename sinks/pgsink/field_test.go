package pgsink

import (
	"fmt"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/reportferry/reportferry/sinks"
)

// decoded is the value as the library reads what a field wrote.
func decoded(t *rapid.T, oid uint32, written []byte) any {
	t.Helper()
	if n := int(written[0])<<24 | int(written[1])<<16 | int(written[2])<<8 | int(written[3]); n != len(written)-4 {
		t.Fatalf("the length says %d of %d bytes", n, len(written)-4)
	}
	types := pgtype.NewMap()
	known, _ := types.TypeForOID(oid)
	v, err := known.Codec.DecodeValue(types, oid, pgtype.BinaryFormatCode, written[4:])
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func wrote(t *rapid.T, of sinks.ColumnType, v parquet.Value) []byte {
	t.Helper()
	b, err := encoders[of](nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Money is read as it was, whatever its size and sign, and in the form that Postgres itself sends.
func TestNumeric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		millionths := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-20_000, 20_000),
			rapid.Map(rapid.Int64Range(-999_999_999, 999_999_999), func(n int64) int64 { return n * 1e6 }),
			rapid.SampledFrom([]int64{0, 1, -1, 100, 10_000, 1e6, 1e10, 1e18 - 1, -1e18 + 1, math.MinInt64,
				math.MaxInt64})).Draw(t, "millionths")
		got := decoded(t, pgtype.NumericOID, wrote(t, sinks.Decimal, parquet.Int64Value(millionths))).(pgtype.Numeric)
		value := new(big.Rat).SetInt(got.Int)
		for range got.Exp {
			value.Mul(value, big.NewRat(10, 1))
		}
		for range -got.Exp {
			value.Quo(value, big.NewRat(10, 1))
		}
		if want := big.NewRat(millionths, 1e6); value.Cmp(want) != 0 {
			t.Errorf("%d millionths are read as %s, want %s", millionths, value.FloatString(6), want.FloatString(6))
		}
	})
}

// The same of the other types.
func TestFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.Int64().Draw(t, "int64")
		if got := decoded(t, pgtype.Int8OID, wrote(t, sinks.Int64, parquet.Int64Value(whole))); got != whole {
			t.Errorf("%d is read as %v", whole, got)
		}
		ratio := rapid.Float64().Draw(t, "double")
		if got := decoded(t, pgtype.Float8OID, wrote(t, sinks.Double, parquet.DoubleValue(ratio))); got != ratio {
			t.Errorf("%g is read as %v", ratio, got)
		}
		text := rapid.StringMatching(`[^\x00]*`).Draw(t, "text")
		if got := decoded(t, pgtype.TextOID, wrote(t, sinks.String, parquet.ByteArrayValue([]byte(text)))); got !=
			text {
			t.Errorf("%q is read as %q", text, got)
		}
		days := rapid.Int32Range(-700_000, 2_900_000).Draw(t, "days") // from the year 53 to 9909
		day := time.Unix(0, 0).UTC().AddDate(0, 0, int(days))
		if got := decoded(t, pgtype.DateOID, wrote(t, sinks.Date, parquet.Int32Value(days))); got != day {
			t.Errorf("%s is read as %v", day, got)
		}
		moment := time.UnixMicro(rapid.Int64Range(-1e15, 1e17).Draw(t, "micros")).UTC()
		if got := decoded(t, pgtype.TimestampOID, wrote(t, sinks.DateTime,
			parquet.Int64Value(moment.UnixMicro()))); got != moment {
			t.Errorf("%s is read as %v", moment, got)
		}
		if got := decoded(t, pgtype.TimestamptzOID, wrote(t, sinks.Instant,
			parquet.Int64Value(moment.UnixMicro()))).(time.Time); !got.Equal(moment) {
			t.Errorf("%s is read as %v", moment, got)
		}
	})
}

// Only rows of the partition pass, to the microsecond.
func TestWithin(t *testing.T) {
	const day = 24 * 60 * 60 * microsPerSecond
	at := place{first: epoch.AddDays(-3), end: epoch.AddDays(-2)}
	for micros, want := range map[int64]bool{-3*day - 1: false, -3 * day: true, -2*day - 1: true, -2 * day: false} {
		if _, err := partitionEncoder(at, sinks.DateTime)(nil, parquet.Int64Value(micros)); (err == nil) != want {
			t.Errorf("%d: %v", micros, err)
		}
	}
	for days, want := range map[int32]bool{-4: false, -3: true, -2: false} {
		if _, err := partitionEncoder(at, sinks.Date)(nil, parquet.Int32Value(days)); (err == nil) != want {
			t.Errorf("%d: %v", days, err)
		}
	}
}

// A name of a table that tells of another one stays a name of its own when it is too long for
// Postgres.
func TestNames(t *testing.T) {
	long := "campaigns_of_all_apps_by_country_and_network_and_creative"
	seen := map[string]string{}
	for _, table := range []string{
		"installs", sinks.Derived("_reportferry_partitions", "installs"),
		sinks.Derived("_reportferry_restatements", long), sinks.Derived("_reportferry_restatements", long+"s"),
	} {
		name := tableName(table)
		if len(name) > LongestName || seen[name] != "" {
			t.Errorf("%s is %s, as is %q", table, name, seen[name])
		}
		seen[name] = table
	}
	if got := fmt.Sprint(tableName("installs"), " ", tableName("_reportferry_partitions/table=installs")); got !=
		"installs _reportferry_partitions_installs" {
		t.Error(got)
	}
}
