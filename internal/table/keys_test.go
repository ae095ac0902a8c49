package table

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cloud.google.com/go/civil"
	"pgregory.net/rapid"

	"github.com/reportferry/reportferry/internal/catalog"
)

// Hashes that were there before are counted, of however many, and wherever they are.
func TestRepeatedHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dice := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n, of := rapid.IntRange(0, 30_000).Draw(t, "rows"), rapid.SampledFrom([]uint64{3, 1000, 1 << 20, 1 << 63}).Draw(t, "of")
		var k keys
		want, seen := int64(0), map[uint64]bool{}
		for range n {
			h := dice.Uint64N(of)
			if rapidSpread := of > 1000; rapidSpread {
				h *= 0x9E3779B185EBCA87
			}
			if seen[h] {
				want++
			}
			seen[h] = true
			k.add([]uint64{h}, []int32{0})
		}
		if got := k.repeated(&set{}); got != want {
			t.Fatalf("%d of %d hashes of %d are repeated, want %d", got, n, of, want)
		}
	})
}

// Rows of one key are counted in each partition, whatever their metrics are; a key of another day is another key.
func TestRepeatedKeys(t *testing.T) {
	day := civil.Date{Year: 2026, Month: 1, Day: 1}
	for name, c := range map[string]struct {
		rows string
		want [2]int64
	}{
		"none":                     {"2026-01-01,a,1\n2026-01-01,b,1\n2026-01-02,a,1\n", [2]int64{0, 0}},
		"once":                     {"2026-01-01,a,1\n2026-01-01,b,1\n2026-01-01,a,2\n2026-01-02,a,1\n", [2]int64{1, 0}},
		"the same row three times": {"2026-01-02,a,1\n2026-01-02,a,1\n2026-01-02,a,1\n", [2]int64{0, 2}},
		"blanks":                   {"2026-01-01,,1\n2026-01-01,,1\n", [2]int64{1, 0}},
	} {
		conv, err := New(Options{
			Columns: []Column{{Name: "day", Source: "day", Type: catalog.Day, Dimension: true}, {Name: "network", Source: "network", Dimension: true},
				{Name: "installs", Source: "installs", Type: catalog.Int64, Additive: true}},
			Route: 0, Partitions: []civil.Date{day, day.AddDays(1)}, Dir: t.TempDir(), Codec: "none",
		})
		if err == nil {
			err = conv.Read(context.Background(), strings.NewReader("day,network,installs\n"+c.rows))
		}
		if err != nil {
			t.Fatal(err)
		}
		parts, err := conv.Finish()
		if err != nil || parts[0].Repeated != c.want[0] || parts[1].Repeated != c.want[1] {
			t.Errorf("%s: %d and %d rows repeat a key, want %v; %v", name, parts[0].Repeated, parts[1].Repeated, c.want, err)
		}
	}
}

func BenchmarkRepeated(b *testing.B) {
	for _, n := range []int{1000, 80_000, 2_500_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dice := rand.New(rand.NewPCG(1, 2))
			hash, rows := []uint64{0}, []int32{0}
			for b.Loop() {
				var k keys
				for range n {
					hash[0] = dice.Uint64()
					k.add(hash, rows)
				}
				if k.repeated(&set{}) != 0 {
					b.Fatal("two are the same")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
		})
	}
}
