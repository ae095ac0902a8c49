package parquet

import (
	"math/rand/v2"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// Texts whose keys are the same, of other sizes, are told apart, also where one is on the way to
// the other: ab and abb, abcd and abcdabcd, and those that end with zeros, which are nearest.
func TestKeysOfAnySize(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for range 3000 {
		d := newTextTable(0)
		for range 4 {
			x, y := string(rune(r.IntN(128))), string(rune(r.IntN(128)))
			for _, text := range []string{x, x + x + x + "\x00\x00\x00", x + y, x + y + y,
				x + y + y + "\x00\x00\x00\x00", x + y + x + "\x00\x00\x00\x00\x00", x + y + x + y,
				x + y + x + y + x + y + x + y} {
				if id, hash, ok := d.ID([]byte(text)); !ok || string(d.text(id)) != text ||
					hash != xxhash.Sum64([]byte(text)) {
					t.Fatalf("%q is taken for %q", text, d.text(id))
				}
			}
		}
	}
}

// A column whose texts hardly repeated begins the next row groups without a dictionary, for so long
// and no longer. Bounds of such texts are copies, and all of it ends with the row group.
func TestRawTexts(t *testing.T) {
	columns := []Column{{Name: "n", Type: Int64}, {Name: "a", Type: Text}, {Name: "b", Type: Text}}
	pool := NewPool(columns, 0, "")
	raw := []int{0, 3, 0}
	for k := range 6 {
		g := pool.Group(raw)
		r, _ := g.Texts(1)
		other, _ := g.Texts(2)
		if r.Raw() != (k < 3) || other.Raw() || r.low != nil || r.high != nil || len(r.plain) > 0 {
			t.Fatalf("row group %d: %+v", k, r)
		}
		buffer := make([]byte, 1)
		for _, text := range []string{"m", "p", "c", "b", "d", "x", "y"} {
			copy(buffer, text)
			r.Append(buffer)
		}
		copy(buffer, "n")
		if string(r.low) != "b" || string(r.high) != "y" {
			t.Errorf("bounds %q and %q", r.low, r.high)
		}
		pool.Recycle(g)
	}
}
