package table

import (
	"bytes"
	"unicode/utf8"
)

// dictionary holds the distinct texts of one column of a row group. A text is checked, and kept, once.
type dictionary struct {
	slots  []uint32 // id+1 by hash, 0 for none; a power of two long, at most half full
	hashes []uint64 // by id
	ends   []uint32 // by id: where its text ends in data
	data   []byte
	last   uint32 // the id given out last: reports are sorted, so the next row often has the same
}

func newDictionary() *dictionary { return &dictionary{slots: make([]uint32, 64)} }

func (d *dictionary) text(id uint32) []byte {
	begin := uint32(0)
	if id > 0 {
		begin = d.ends[id-1]
	}
	return d.data[begin:d.ends[id]:d.ends[id]]
}

// id finds or adds a text; not ok when it isn't valid UTF-8.
func (d *dictionary) id(text []byte) (id uint32, hash uint64, ok bool) {
	if len(d.ends) > 0 && bytes.Equal(text, d.text(d.last)) {
		return d.last, d.hashes[d.last], true
	}
	hash = hashText(text)
	mask := uint64(len(d.slots) - 1)
	i := hash & mask
	for ; d.slots[i] != 0; i = (i + 1) & mask {
		id = d.slots[i] - 1
		if d.hashes[id] == hash && bytes.Equal(text, d.text(id)) {
			d.last = id
			return id, hash, true
		}
	}
	if !utf8.Valid(text) {
		return 0, 0, false
	}
	id = uint32(len(d.ends))
	d.slots[i] = id + 1
	d.hashes = append(d.hashes, hash)
	d.data = append(d.data, text...)
	d.ends = append(d.ends, uint32(len(d.data)))
	d.last = id
	if 2*len(d.ends) > len(d.slots) {
		d.grow()
	}
	return id, hash, true
}

func (d *dictionary) grow() {
	d.slots = make([]uint32, 4*len(d.slots))
	mask := uint64(len(d.slots) - 1)
	for id, hash := range d.hashes {
		i := hash & mask
		for d.slots[i] != 0 {
			i = (i + 1) & mask
		}
		d.slots[i] = uint32(id) + 1
	}
}

// reset forgets the texts and keeps the memory.
func (d *dictionary) reset() {
	clear(d.slots)
	d.hashes, d.ends, d.data, d.last = d.hashes[:0], d.ends[:0], d.data[:0], 0
}

// bytes is the memory in use.
func (d *dictionary) bytes() int64 {
	return int64(4*cap(d.slots) + 8*cap(d.hashes) + 4*cap(d.ends) + cap(d.data))
}
