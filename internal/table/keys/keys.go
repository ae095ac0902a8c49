// Package keys counts duplicate rows: those whose key an earlier row has too. Without it, a row
// that the service sends twice would be published twice wherever there is no total to compare with.
//
// Only 64-bit hashes of the keys are compared. In an answer of ten million rows, the chance that
// two different keys have the same hash is about 1 in 400,000.
package keys

import "math/bits"

// Keys are the hashes of the keys of rows, 8 bytes a row, in the order in which they come. The zero
// value is ready.
type Keys struct {
	full [][]uint64 // chunks of hashes
	last []uint64   // the chunk to which hashes are added
	rows int        // how many hashes Add was given
}

// mostPile is about how many hashes are compared at once, so that they fit into a core's cache.
// pileBits is its logarithm to base 2.
const (
	pileBits = 15
	mostPile = 1 << pileBits
)

// mostChunk is the most hashes that one slice of memory holds; when there are few rows it is
// smaller.
const mostChunk = 1 << 9

// Add adds the hashes of some rows.
func (k *Keys) Add(hashes []uint64, rows []int32) {
	k.rows += len(rows)
	for len(rows) > 0 {
		at := len(k.last)
		if at == cap(k.last) {
			k.next(make([]uint64, 0, min(max(2*at, len(rows)), mostChunk)))
			at = 0
		}
		n := min(len(rows), cap(k.last)-at)
		k.last = k.last[:at+n]
		to := k.last[at:]
		for i, row := range rows[:n] {
			to[i] = hashes[row]
		}
		rows = rows[n:]
	}
}

// next adds the last chunk to the full ones, and continues with chunk.
func (k *Keys) next(chunk []uint64) {
	if len(k.last) > 0 {
		k.full = append(k.full, k.last)
	}
	k.last = chunk
}

// Repeated counts the hashes that equal an earlier one, and empties k. Many hashes are first
// divided into piles by their highest bits, so that each pile can be compared within a core's
// cache.
func (k *Keys) Repeated(s *Scratch) (n int64) {
	k.next(nil)
	chunks, piles := k.full, make([]Keys, 1<<bits.Len(uint(k.rows/mostPile)))
	*k = Keys{}
	if len(piles) == 1 {
		return s.repeated(chunks)
	}
	var spare [][]uint64
	for _, hashes := range chunks {
		spare = append(split(piles, hashes, spare), hashes)
	}
	for _, p := range piles {
		p.next(nil)
		n += s.repeated(p.full)
	}
	return n
}

// split divides hashes among the piles. It reuses the spare chunks before it makes new ones, and
// returns those that are left.
func split(piles []Keys, hashes []uint64, spare [][]uint64) [][]uint64 {
	shift := bits.LeadingZeros64(uint64(len(piles)-1)) % 64
	for _, h := range hashes {
		p := &piles[h>>shift]
		if len(p.last) == cap(p.last) {
			if n := len(spare) - 1; n >= 0 {
				p.next(spare[n][:0])
				spare = spare[:n]
			} else {
				p.next(make([]uint64, 0, mostChunk))
			}
		}
		p.last = append(p.last, h)
	}
	return spare
}

// Scratch is the memory in which hashes are compared. The zero value is ready, and serves many
// Keys, one after the other.
type Scratch struct{ slots []uint64 }

// repeated counts the hashes of a pile that equal an earlier one, and empties the pile. It works in
// turns: the first hash that falls into a slot takes it, hashes equal to it are counted, and
// different ones are left for the next turn, in which other bits of theirs choose the slot.
func (s *Scratch) repeated(pile [][]uint64) (n int64) {
	left := 0
	for _, hashes := range pile {
		left += len(hashes)
	}
	for turn := 0; left > 0; turn += pileBits {
		size := min(1<<bits.Len(uint(left)), mostPile)
		if size > len(s.slots) {
			s.slots = make([]uint64, size)
		}
		clear(s.slots[:size])
		left = 0
		for i, hashes := range pile {
			others, again := compare(s.slots[:size], hashes, turn)
			pile[i] = hashes[:others]
			left += others
			n += int64(again)
		}
	}
	return n
}

// compare does one turn with one chunk. It counts the hashes that are in their slots already
// (again), and moves those whose slots hold a different hash to the front of hashes (others). The
// loop has no branches, which a processor would often predict wrongly. A slot of 0 is free, so a
// hash of 0 is treated as 1.
func compare(slots, hashes []uint64, turn int) (others, again int) {
	for _, h := range hashes {
		h = max(h, 1)
		slot := &slots[bits.RotateLeft64(h, -turn)&uint64(len(slots)-1)]
		was, is, same, other := *slot, *slot, 0, 0
		if was == 0 {
			is = h
		}
		if was == h {
			same = 1
		}
		if is != h {
			other = 1
		}
		*slot = is
		hashes[others] = h
		again += same
		others += other
	}
	return others, again
}
