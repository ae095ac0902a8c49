package parquet

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// Texts are the texts of one column of a row group: a dictionary of the distinct ones, and, once they hardly repeat, the
// texts themselves, as the pages hold them.
type Texts struct {
	dictionary
	raw       bool   // the texts from here on go into plain, not into the dictionary
	plain     []byte // of the page to come, in Parquet's PLAIN encoding
	low, high []byte // bounds of all that went into plain in this row group; nil before the first
}

func newTexts() *Texts { return &Texts{dictionary: newDictionary()} }

// Raw tells how the next cells are to be handed over: by Append when true, else by ID. It only changes at a Commit.
func (t *Texts) Raw() bool { return t.raw }

// Append takes the next text that isn't NULL; false when it isn't valid UTF-8.
func (t *Texts) Append(text []byte) bool {
	if !utf8.Valid(text) {
		return false
	}
	t.plain = binary.LittleEndian.AppendUint32(t.plain, uint32(len(text)))
	t.plain = append(t.plain, text...)
	switch {
	case t.low == nil:
		t.low, t.high = append([]byte{}, text...), append([]byte{}, text...)
	case bytes.Compare(text, t.low) < 0:
		t.low = append(t.low[:0], text...)
	case bytes.Compare(text, t.high) > 0:
		t.high = append(t.high[:0], text...)
	}
	return true
}

func (t *Texts) bytes() int64 { return t.dictionary.bytes() + int64(cap(t.plain)) }

// reset forgets the texts and keeps the memory.
func (t *Texts) reset() {
	t.dictionary.reset()
	*t = Texts{dictionary: t.dictionary, plain: t.plain[:0]}
}

// dictionary holds the distinct texts of one column of a row group, each with its index. A text is checked to be UTF-8 when
// it is added.
type dictionary struct {
	slots  []slot // a hash table; a power of two long, at most half full
	shift  uint8  // 64 less the bits of a place among the slots
	ends   []uint32
	data   []byte // the texts, one behind the other; the one of index i ends at ends[i]
	sealed int    // the number of texts when the last page was made
}

// slot is what a lookup needs of a text. It takes half a cache line, so that one lookup loads one line.
type slot struct {
	key   uint64
	hash  uint64 // XXH64
	id    uint32 // the index plus one; 0 for a free slot
	start uint32 // in data
	size  uint32
}

const fewestSlots = 64

// The primes of XXH64 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).
const (
	prime1 = 0x9E3779B185EBCA87
	prime2 = 0xC2B2AE3D27D4EB4F
	prime3 = 0x165667B19E3779F9
	prime4 = 0x85EBCA77C2B2AE63
	prime5 = 0x27D4EB2F165667C5
)

func newDictionary() dictionary {
	var d dictionary
	d.resize(fewestSlots)
	return d
}

func (d *dictionary) resize(n int) {
	d.slots = make([]slot, n)
	d.shift = uint8(64 - bits.TrailingZeros(uint(n)))
}

func (d *dictionary) text(id uint32) []byte {
	begin := uint32(0)
	if id > 0 {
		begin = d.ends[id-1]
	}
	return d.data[begin:d.ends[id]:d.ends[id]]
}

// ID finds or adds a text that isn't NULL, and gives its dictionary index. It also gives its XXH64, which it keeps for callers
// that hash their cells. It is not ok when the text isn't valid UTF-8.
func (d *dictionary) ID(text []byte) (id uint32, hash uint64, ok bool) {
	key := textKey(text)
	i := d.place(key, len(text))
	mask := len(d.slots) - 1
	for {
		s := &d.slots[i&mask]
		if s.id == 0 {
			break
		}
		if s.key == key && int(s.size) == len(text) && (len(text) <= 8 || sameText(text, d.data[s.start:s.start+s.size])) {
			return s.id - 1, s.hash, true
		}
		i++
	}
	if !utf8.Valid(text) {
		return 0, 0, false
	}
	hash = xxhash.Sum64(text)
	s := slot{key: key, hash: hash, id: uint32(len(d.ends)) + 1, start: uint32(len(d.data)), size: uint32(len(text))}
	d.slots[i&mask] = s
	d.data = append(d.data, text...)
	d.ends = append(d.ends, uint32(len(d.data)))
	if 2*len(d.ends) > len(d.slots) {
		d.grow()
	}
	return s.id - 1, hash, true
}

// place gives the slot where the search for a text begins.
func (d *dictionary) place(key uint64, size int) int {
	return int((key + uint64(size)) * prime1 >> d.shift)
}

func (d *dictionary) grow() {
	old := d.slots
	d.resize(2 * len(old))
	mask := len(d.slots) - 1
	for _, s := range old {
		if s.id == 0 {
			continue
		}
		i := d.place(s.key, int(s.size))
		for d.slots[i&mask].id != 0 {
			i++
		}
		d.slots[i&mask] = s
	}
}

// textKey maps texts of one size to keys. Texts of up to eight bytes have different keys. Longer ones are hashed from all of
// their bytes, because names that differ only in the middle are what people give their campaigns.
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

// appendPlain appends the texts in PLAIN encoding: the size in four bytes, then the bytes.
func (d *dictionary) appendPlain(dst []byte) []byte {
	from := uint32(0)
	for _, end := range d.ends {
		dst = binary.LittleEndian.AppendUint32(dst, end-from)
		dst = append(dst, d.data[from:end]...)
		from = end
	}
	return dst
}

// reset forgets the texts and keeps the memory.
func (d *dictionary) reset() {
	clear(d.slots)
	d.ends, d.data, d.sealed = d.ends[:0], d.data[:0], 0
}

// bytes is the memory in use.
func (d *dictionary) bytes() int64 {
	return int64(32*cap(d.slots) + 4*cap(d.ends) + cap(d.data))
}
