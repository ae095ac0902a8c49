package parquet

// mostNumbers is the largest dictionary of a column of numbers: its indexes take two bytes each.
const mostNumbers = 1 << 16

// A numberDict is the dictionary of a column of doubles, dates or timestamps in a row group: its
// distinct values.
type numberDict struct {
	slots  []uint32 // a hash table of indexes into values, plus one; 0 is free; a power of two long, at most half full
	shift  uint8
	values []int64
	sealed int  // the number of values when the last page was made
	plain  bool // too many values are distinct: the pages from here on hold values
}

func newNumberDict() *numberDict { return &numberDict{slots: make([]uint32, 64), shift: 64 - 6} }

// add appends the dictionary indexes of a page's values to ids. It is not ok when the page is to
// hold the values themselves.
func (d *numberDict) add(ids []uint32, values []int64) (_ []uint32, ok bool) {
	before := len(d.values)
	for _, v := range values {
		i := uint64(v) * prime1 >> d.shift
		mask := uint64(len(d.slots) - 1)
		for {
			id := d.slots[i]
			if id == 0 {
				break
			}
			if d.values[id-1] == v {
				ids = append(ids, id-1)
				goto next
			}
			i = (i + 1) & mask
		}
		if len(d.values) == mostNumbers {
			d.forget(before)
			return ids, false
		}
		d.slots[i] = uint32(len(d.values)) + 1
		ids = append(ids, uint32(len(d.values)))
		d.values = append(d.values, v)
		if 2*len(d.values) > len(d.slots) {
			d.grow(2 * len(d.slots))
		}
	next:
	}
	if n := len(d.values) - before; len(d.values) > mostNumbers/8 && n > len(values)/2 { // the values hardly repeat
		d.forget(before)
		return ids, false
	}
	return ids, true
}

// forget drops the values that the current page added, from an index on, and ends the dictionary.
func (d *numberDict) forget(from int) {
	d.values, d.plain = d.values[:from], true
}

// grow makes n slots, n being a power of two, and puts the values into them.
func (d *numberDict) grow(n int) {
	d.slots = make([]uint32, n)
	for d.shift = 64; n > 1; n >>= 1 {
		d.shift--
	}
	mask := uint64(len(d.slots) - 1)
	for id, v := range d.values {
		i := uint64(v) * prime1 >> d.shift
		for d.slots[i] != 0 {
			i = (i + 1) & mask
		}
		d.slots[i] = uint32(id) + 1
	}
}

// reset forgets the values and keeps the memory.
func (d *numberDict) reset() {
	clear(d.slots)
	d.values, d.sealed, d.plain = d.values[:0], 0, false
}

// numberBytes estimates the memory of one value: its own eight bytes, and three slots.
const numberBytes = 8 + 3*4

// bytes returns the memory in use.
func (d *numberDict) bytes() int64 { return int64(4*cap(d.slots) + 8*cap(d.values)) }
