package keys

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Hashes that were there before are counted, of however many, in whatever portions they come, and
// wherever they are.
func TestRepeatedHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dice := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n, of := rapid.IntRange(0, 3*mostPile).Draw(t, "rows"),
			rapid.SampledFrom([]uint64{3, 1000, 1 << 17, 1 << 63}).Draw(t, "of")
		shift := rapid.SampledFrom([]int{0, 20, 47}).Draw(t, "shift") // hashes that have many of their bits in common
		hashes, rows := make([]uint64, n), make([]int32, n)
		want, seen := int64(0), map[uint64]bool{}
		for i := range hashes {
			h := dice.Uint64N(of) * 0x9E3779B185EBCA87 >> shift << (shift / 2)
			if seen[h] {
				want++
			}
			seen[h] = true
			hashes[i], rows[n-1-i] = h, int32(i)
		}
		var s Scratch
		for range 2 { // the second time in memory that was used
			var k Keys
			for at := 0; at < n; {
				end := min(n, at+dice.IntN(2000))
				k.Add(hashes, rows[at:end])
				at = end
			}
			if got := k.Repeated(&s); got != want {
				t.Fatalf("%d of %d hashes of %d are repeated, want %d", got, n, of, want)
			}
		}
	})
}

// Hashes take 8 bytes a row. While they are compared, lists of pieces of memory, unfinished pieces
// and slots come on top.
func TestMemoryOfHashes(t *testing.T) {
	hashes, rows := drawn(1 << 20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if n := repeated(hashes, rows, &Scratch{}); n != 0 {
		t.Fatalf("%d are repeated", n)
	}
	runtime.ReadMemStats(&after)
	if n := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(hashes)); n > 9 {
		t.Errorf("%.2f bytes a row, want 9 at most", n)
	}
}

func BenchmarkRepeated(b *testing.B) {
	for _, n := range []int{1000, 80_000, 2_500_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			hashes, rows := drawn(n)
			var s Scratch
			for b.Loop() {
				repeated(hashes, rows, &s)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
		})
	}
}

// drawn are hashes that differ, and their rows.
func drawn(n int) (hashes []uint64, rows []int32) {
	dice := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		hashes, rows = append(hashes, dice.Uint64()), append(rows, int32(i))
	}
	return hashes, rows
}

// repeated counts hashes that come as a converter's batches do.
func repeated(hashes []uint64, rows []int32, s *Scratch) int64 {
	var k Keys
	for batch := range slices.Chunk(rows, 1000) {
		k.Add(hashes, batch)
	}
	return k.Repeated(s)
}
