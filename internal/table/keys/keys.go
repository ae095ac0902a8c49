// Package keys counts rows that have the key of another. Without it, a row that comes twice would be published twice wherever no total
// tells that it is too much.
//
// Keys are known by hashes of 64 bits: of ten million rows two that differ have one hash in one of 400,000 answers.
package keys

import "slices"

// Keys are the hashes of the keys of rows, about 8 bytes a row. The zero value is ready. Many of them are sorted while they come, by their
// first bits, so that those that are compared in the end fit a core's cache.
type Keys struct {
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

// Add adds the hashes of some rows.
func (k *Keys) Add(hashes []uint64, rows []int32) {
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

// Repeated counts the hashes that were there before. It uses the set, which keeps its memory for others.
func (k *Keys) Repeated(set *Set) (n int64) {
	if k.sorted == nil {
		set.reset(len(k.few))
		return set.count(k.few)
	}
	for i := range k.sorted {
		p := &k.sorted[i]
		set.reset(p.n + len(p.last))
		for _, hashes := range p.full {
			n += set.count(hashes)
		}
		n += set.count(p.last)
	}
	return n
}
