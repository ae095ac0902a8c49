//go:build !fuzz

package zstdframe

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/reportferry/reportferry/internal/slow"
)

func TestFramesAreZstandard(t *testing.T) {
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	var f Packer
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		width := rapid.IntRange(0, 64).Draw(t, "bits")
		skew := rapid.IntRange(0, 8).Draw(t, "skew")
		repeats := rapid.IntRange(0, 9).Draw(t, "repeats")
		n := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(0, largestBlock/8)).Draw(t, "n")
		values := make([]int64, n)
		var plain []byte
		for i := range values {
			v := r.Uint64() & (1<<width - 1)
			for range skew {
				v &= v >> r.IntN(max(1, width))
			}
			if i > 0 && r.IntN(9) < repeats {
				v = uint64(values[i-1])
			}
			values[i] = int64(v)
			plain = binary.LittleEndian.AppendUint64(plain, v)
		}
		holdFrame(t, decoder, f.Bytes(nil, plain), plain)
		holdWords(t, decoder, &f, values)
	})
}

// The sizes at which a frame's, a block's or a section's header changes.
func TestFrameSizes(t *testing.T) {
	slow.Test(t)
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	var f Packer
	r := rand.New(rand.NewPCG(3, 4))
	for name, draw := range map[string]func() byte{
		"zeros":            func() byte { return 0 },
		"any bytes":        func() byte { return byte(r.Uint32()) },
		"few bits":         func() byte { return byte(r.Uint32()) & 7 },
		"one that is rare": func() byte { return byte(1 / (1 + r.IntN(500))) },
		"skewed":           func() byte { return byte(r.ExpFloat64() * 9) },
		"nearly even":      func() byte { return byte(r.IntN(200)) },
	} {
		for _, n := range []int{0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1022, 1023, 1024, 1025, 4095, 4096,
			4097, 16383, 16384, 16385, 65535, 65536, 65535 + 256, 65536 + 256, 65537 + 256, largestBlock - 1,
			largestBlock, largestBlock + 1, 2 * largestBlock, 2*largestBlock + 1} {
			content := make([]byte, n)
			for i := range content {
				content[i] = draw()
			}
			packed := f.Bytes(nil, content)
			holdFrame(t, decoder, packed, content)
			if len(packed) > n+longestHeader(n) || name == "zeros" && n > 64 && len(packed) > 12+8*(1+n/largestBlock) ||
				name == "few bits" && n > 1000 && len(packed) > n/2 {
				t.Errorf("%s: %d bytes are packed into %d", name, n, len(packed))
			}
		}
	}
	for _, n := range []int{0, 1, 15, 16, 17, 31, 32, 33, 129, 130, 131, 2047, 8191, 8192, 16383, 16384, 16385} {
		for width := range 49 { // bits in use
			if n > 131 && width%8 > 1 {
				continue
			}
			for _, run := range []int{1, 2, 3, 5, 100, 1 << 20} {
				values := make([]int64, n)
				for i := range values {
					if i == 0 || i%run == 0 && r.IntN(3) > 0 {
						values[i] = r.Int64() & (1<<width - 1)
					} else {
						values[i] = values[i-1]
					}
				}
				holdWords(t, decoder, &f, values)
			}
		}
	}
}
