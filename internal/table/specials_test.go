//go:build !fuzz

package table

import (
	"math/rand/v2"
	"testing"
)

// Special bytes are found wherever they stand, also behind bytes that differ from them by one bit
// or by the highest.
func TestSpecials(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	const special = ",\n\""
	for range 2000 {
		data := make([]byte, r.IntN(200))
		for i := range data {
			switch data[i] = special[r.IntN(3)]; r.IntN(4) {
			case 0:
				data[i] ^= 1 << r.IntN(8)
			case 1:
				data[i] ^= 0x80 | byte(r.IntN(2))
			case 2:
				data[i] = byte(r.Uint32())
			}
		}
		s := specials{data: data, base: -64}
		for p := range len(data) + 1 {
			want := p
			for want < len(data) && plainByte[data[want]] {
				want++
			}
			if got := s.next(p); got != want {
				t.Fatalf("the first special byte of %q behind %d is at %d, want %d", data, p, got, want)
			}
		}
	}
}
