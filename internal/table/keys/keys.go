// Package keys counts rows that have the key of another. Without it, a row that comes twice would
// be published twice wherever no total tells that it is too much.
//
// Keys are known by hashes of 64 bits: of ten million rows two that differ have one hash in one of
// 400,000 answers.
package keys

import "math/bits"

// Keys are the hashes of the keys of rows, 8 bytes a row, in the order in which they come. The zero
// value is ready.
type Keys struct {
	full [][]uint64
	last []uint64
	rows int
}

// mostPile is how many hashes are compared at once, about.
const (
	pileBits = 15
	mostPile = 1 << pileBits
)

// mostChunk is how many hashes a piece of memory holds, at most: that of few rows is small.
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

func (k *Keys) next(chunk []uint64) {
	if len(k.last) > 0 {
		k.full = append(k.full, k.last)
	}
	k.last = chunk
}

// Repeated counts the hashes that were there before, and empties k. Many are first put into piles
// by their first bits, and each is compared in a core's cache.
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

// split puts hashes into piles, whose memory is spare or new, and gives what is still spare.
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

// repeated counts the hashes that were there before, and empties the pile. A turn is done with the
// first hash of those that share a slot, and with all that equal it; the others are left to the
// next turn, in which other bits of theirs choose the slot.
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

// compare counts the hashes that are in their slots already, and moves those whose slots have
// others to the front. It has no branch that a core would guess wrong. A slot with 0 is free, so
// that a hash of 0 is taken for 1.
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
