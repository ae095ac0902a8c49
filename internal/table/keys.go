package table

import "slices"

// Rows of one key are found by hashes of 64 bits: of ten million rows two that differ have one hash in one of 400,000 answers.

// keys are the hashes of the dimensions of a partition's rows, about 8 bytes a row. Many of them are sorted while they come, by their
// first bits, so that those that are compared in the end fit a core's cache.
type keys struct {
	few    []uint64
	sorted *[sorts]pile // nil: they are in few
}

const (
	sortBits  = 7
	sorts     = 1 << sortBits
	mostFew   = 1 << 14
	leastPile = 1 << 7 // of hashes, the first piece of memory of a pile
	mostPile  = 1 << 11
)

// A pile is the hashes that begin with the same bits.
type pile struct {
	full [][]uint64
	last []uint64
	n    int
}

// add adds the hashes of some rows.
func (k *keys) add(hashes []uint64, rows []int32) {
	if k.sorted == nil {
		k.few = slices.Grow(k.few, len(rows))
		for _, row := range rows {
			k.few = append(k.few, hashes[row])
		}
		if len(k.few) > mostFew {
			k.sorted = new([sorts]pile)
			for _, h := range k.few {
				k.sorted[h>>(64-sortBits)].add(h)
			}
			k.few = nil
		}
		return
	}
	for _, row := range rows {
		h := hashes[row]
		k.sorted[h>>(64-sortBits)].add(h)
	}
}

func (p *pile) add(h uint64) {
	if len(p.last) == cap(p.last) {
		p.more()
	}
	p.last = append(p.last, h)
}

func (p *pile) more() {
	size := leastPile
	if p.last != nil {
		p.full = append(p.full, p.last)
		size = min(2*len(p.last), mostPile)
		p.n += len(p.last)
	}
	p.last = make([]uint64, 0, size)
}

// lastDimension is the column after which the hash of a row is that of its key; -1 where dimensions don't come first, or there are none.
func lastDimension(columns []Column) int {
	last := -1
	for i, c := range columns {
		if !c.Dimension {
			continue
		}
		if last != i-1 {
			return -1
		}
		last = i
	}
	return last
}

// repeated counts the hashes that were there before.
func (k *keys) repeated(seen *set) (n int64) {
	if k.sorted == nil {
		seen.reset(len(k.few))
		return seen.count(k.few)
	}
	for i := range k.sorted {
		p := &k.sorted[i]
		seen.reset(p.n + len(p.last))
		for _, hashes := range p.full {
			n += seen.count(hashes)
		}
		n += seen.count(p.last)
	}
	return n
}
