package keys

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// Hashes that were there before are counted, of however many, and wherever they are.
func TestRepeatedHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dice := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n, of := rapid.IntRange(0, 30_000).Draw(t, "rows"), rapid.SampledFrom([]uint64{3, 1000, 1 << 20, 1 << 63}).Draw(t, "of")
		var k Keys
		want, seen := int64(0), map[uint64]bool{}
		for range n {
			h := dice.Uint64N(of)
			if of > 1000 {
				h *= 0x9E3779B185EBCA87
			}
			if seen[h] {
				want++
			}
			seen[h] = true
			k.Add([]uint64{h}, []int32{0})
		}
		if got := k.Repeated(&Set{}); got != want {
			t.Fatalf("%d of %d hashes of %d are repeated, want %d", got, n, of, want)
		}
	})
}

func BenchmarkRepeated(b *testing.B) {
	for _, n := range []int{1000, 80_000, 2_500_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dice := rand.New(rand.NewPCG(1, 2))
			hash, rows := []uint64{0}, []int32{0}
			for b.Loop() {
				var k Keys
				for range n {
					hash[0] = dice.Uint64()
					k.Add(hash, rows)
				}
				if k.Repeated(&Set{}) != 0 {
					b.Fatal("two are the same")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
		})
	}
}
