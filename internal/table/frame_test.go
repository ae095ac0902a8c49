//go:build !fuzz

package table

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

func TestFramesAreZstandard(t *testing.T) {
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	var f frames
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
		packed := f.pack(nil, plain)
		if got, err := decoder.DecodeAll(packed, nil); err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("a packed frame gives %d bytes of %d: %v", len(got), len(plain), err)
		}
		if len(packed) > len(plain)+12 {
			t.Fatalf("%d bytes grow to %d", len(plain), len(packed))
		}
		words, ok := f.packWords([]byte("before"), values)
		all := int64(0)
		for _, v := range values {
			all |= v
		}
		if ok != (n >= fewestWords && all >= 0 && all < 1<<40) {
			t.Fatalf("%d words below %d: ok is %v", n, all, ok)
		}
		if !ok {
			return
		}
		if got, err := decoder.DecodeAll(bytes.TrimPrefix(words, []byte("before")), nil); err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("a frame of words gives %d bytes of %d: %v", len(got), len(plain), err)
		}
	})
}
