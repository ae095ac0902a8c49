package table

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/reportferry/reportferry/internal/catalog"
)

// A part that another writer has rewritten, with its decimals as bytes of some length, has the same
// content.
func TestMeasureDecimalsOfOthers(t *testing.T) {
	type converted struct {
		Cost *int64 `parquet:"cost,optional,decimal(6:18)"`
	}
	type short struct {
		Cost *[8]byte `parquet:"cost,optional,decimal(6:18)"`
	}
	type long struct {
		Cost *[16]byte `parquet:"cost,optional,decimal(6:38)"`
	}
	var own []converted
	var shorts []short
	var longs []long
	for _, n := range []int64{0, 1, -1, 1_500_000, -1_500_000, 255, -256, math.MaxInt64, math.MinInt64} {
		own = append(own, converted{&n})
		var b [16]byte
		binary.BigEndian.PutUint64(b[:], uint64(n>>63))
		binary.BigEndian.PutUint64(b[8:], uint64(n))
		shorts, longs = append(shorts, short{(*[8]byte)(b[8:])}), append(longs, long{&b})
	}
	want := contentOf(t, append(own, converted{}))
	if got := contentOf(t, append(shorts, short{})); got != want {
		t.Errorf("decimals of 8 bytes: %s, want %s", got, want)
	}
	if got := contentOf(t, append(longs, long{})); got != want {
		t.Errorf("decimals of 16 bytes: %s, want %s", got, want)
	}
	longs[3].Cost[15]++
	if contentOf(t, append(longs, long{})) == want {
		t.Error("another decimal is the same content")
	}
}

func contentOf[R any](t *testing.T, rows []R) string {
	t.Helper()
	var b bytes.Buffer
	if err := parquet.Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	n, hash, err := Measure(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()),
		[]Column{{Name: "cost", Type: catalog.Decimal}})
	if err != nil || n != int64(len(rows)) {
		t.Fatalf("%d rows: %v", n, err)
	}
	return hash
}
