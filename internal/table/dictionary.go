package table

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// dictionary holds the distinct texts of one column of a row group. A text is checked, and kept, once.
type dictionary struct {
	slots  []slot // by key; a power of two long, at most half full
	shift  uint8  // 64 less the bits of a place among the slots
	ends   []uint32
	data   []byte // texts, one behind the other; by id, ends tells where
	sealed int    // so many of the ids are in pages
}

// slot is what a lookup needs of a text, in one place: half a cache line.
type slot struct {
	key   uint64
	hash  uint64 // hashText
	id    uint32 // one more than it; 0 for an empty slot
	start uint32 // in data
	size  uint32
}

const fewestSlots = 64

func newDictionary() *dictionary {
	d := &dictionary{}
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

// id finds or adds a text; not ok when it isn't valid UTF-8.
func (d *dictionary) id(text []byte) (id uint32, hash uint64, ok bool) {
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
	hash = hashText(text)
	s := slot{key: key, hash: hash, id: uint32(len(d.ends)) + 1, start: uint32(len(d.data)), size: uint32(len(text))}
	d.slots[i&mask] = s
	d.data = append(d.data, text...)
	d.ends = append(d.ends, uint32(len(d.data)))
	if 2*len(d.ends) > len(d.slots) {
		d.grow()
	}
	return s.id - 1, hash, true
}

// place is where the search for a text begins.
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

// textKey is of texts of up to eight bytes one to one, for a given size. Longer ones it mixes, so that none of the bytes
// is without a say: names that differ only in the middle are what people give their campaigns.
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
	return hashText(t)
}

func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// sameText compares texts of one size, of more than eight bytes.
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

// appendPlain appends the texts as Parquet's PLAIN encoding has them.
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
