package parquet

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// A textTable holds the distinct texts of one column, in all row groups of a pool, each with an
// index. A text is checked to be UTF-8 when it is added. There is one table for all row groups,
// because it stays in a core's cache also where the days of an answer are mixed.
type textTable struct {
	slots []slot   // a hash table; a power of two long, at most half full
	shift uint8    // 64 less the number of bits of an index into slots
	ends  []uint32 // by index; see data
	data  []byte   // the texts one after the other; the text with index i ends at ends[i]
}

// slot holds what a lookup needs to know about a text. It takes half a cache line, so that one
// lookup loads one line.
type slot struct {
	key   uint64 // see textKey
	hash  uint64 // XXH64
	id    uint32 // the index plus one; 0 for a free slot
	start uint32 // in data
	size  uint32
}

const fewestSlots = 64 // of a new table

// The primes of XXH64 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).
const (
	prime1 = 0x9E3779B185EBCA87
	prime2 = 0xC2B2AE3D27D4EB4F
	prime3 = 0x165667B19E3779F9
	prime4 = 0x85EBCA77C2B2AE63
	prime5 = 0x27D4EB2F165667C5
)

// newTextTable makes a table with room for so many texts.
func newTextTable(texts int) *textTable {
	w := new(textTable)
	w.resize(max(fewestSlots, 1<<bits.Len(uint(2*texts))))
	return w
}

// resize makes n free slots, n being a power of two.
func (w *textTable) resize(n int) {
	w.slots = make([]slot, n)
	w.shift = uint8(64 - bits.TrailingZeros(uint(n)))
}

// text returns the text with an index.
func (w *textTable) text(id uint32) []byte {
	begin := uint32(0)
	if id > 0 {
		begin = w.ends[id-1]
	}
	return w.data[begin:w.ends[id]:w.ends[id]]
}

// ID finds or adds a text, and returns its index and its XXH64. It is not ok when the text isn't
// valid UTF-8.
func (w *textTable) ID(text []byte) (id uint32, hash uint64, ok bool) {
	key := textKey(text)
	i := w.place(key, len(text))
	mask := len(w.slots) - 1
	for {
		s := &w.slots[i&mask]
		if s.id == 0 {
			break
		}
		if s.key == key && int(s.size) == len(text) && (len(text) <= 8 ||
			sameText(text, w.data[s.start:s.start+s.size])) {
			return s.id - 1, s.hash, true
		}
		i++
	}
	if !utf8.Valid(text) {
		return 0, 0, false
	}
	hash = xxhash.Sum64(text)
	s := slot{key: key, hash: hash, id: uint32(len(w.ends)) + 1, start: uint32(len(w.data)), size: uint32(len(text))}
	w.slots[i&mask] = s
	w.data = append(w.data, text...)
	w.ends = append(w.ends, uint32(len(w.data)))
	if 2*len(w.ends) > len(w.slots) {
		w.grow()
	}
	return s.id - 1, hash, true
}

// place returns the index of the slot where the search for a text begins.
func (w *textTable) place(key uint64, size int) int {
	return int((key + uint64(size)) * prime1 >> w.shift)
}

// grow doubles the slots, and puts the texts into the new ones.
func (w *textTable) grow() {
	old := w.slots
	w.resize(2 * len(old))
	mask := len(w.slots) - 1
	for _, s := range old {
		if s.id == 0 {
			continue
		}
		i := w.place(s.key, int(s.size))
		for w.slots[i&mask].id != 0 {
			i++
		}
		w.slots[i&mask] = s
	}
}

// textKey returns the key of a text, to compare with those of other texts of the same size. Up to
// eight bytes, different texts have different keys. The key of a longer one is a hash of all its
// bytes, because people give campaigns names that differ only in the middle.
func textKey(t []byte) uint64 {
	word := binary.LittleEndian.Uint64
	switch n := len(t); {
	case n == 0:
		return 0
	case n < 4:
		return uint64(t[0]) | uint64(t[n/2])<<8 | uint64(t[n-1])<<16
	case n < 8:
		return uint64(binary.LittleEndian.Uint32(t)) | uint64(binary.LittleEndian.Uint32(t[n-4:]))<<32
	case n == 8:
		return word(t)
	case n <= 16:
		return fold(word(t)^prime2, word(t[n-8:])^prime3)
	case n <= 32:
		return fold(word(t)^prime2, word(t[8:])^prime3) + fold(word(t[n-16:])^prime4, word(t[n-8:])^prime5)*prime1
	}
	return xxhash.Sum64(t)
}

// fold multiplies two words and combines the halves of the product.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// sameText compares texts of the same size, which is more than eight bytes.
func sameText(a, b []byte) bool {
	word := binary.LittleEndian.Uint64
	n := len(a)
	if n > 32 || n != len(b) || n < 8 {
		return string(a) == string(b)
	}
	diff := word(a) ^ word(b) | word(a[n-8:]) ^ word(b[n-8:])
	if n > 16 {
		diff |= word(a[8:]) ^ word(b[8:]) | word(a[n-16:]) ^ word(b[n-16:])
	}
	return diff == 0
}

// wordBytes estimates the memory that a text takes beside its own bytes: two slots, and its end.
const wordBytes = 2*32 + 4

// bytes returns the memory in use.
func (w *textTable) bytes() int64 {
	return int64(32*cap(w.slots) + 4*cap(w.ends) + cap(w.data))
}
