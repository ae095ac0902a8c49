package zstdframe

import (
	"encoding/binary"
	"math/bits"
)

// matches collects the match lengths of a block and encodes its sequences section, in which the
// literal length and the offset are the same for every sequence. Match lengths are encoded by
// finite state entropy (RFC 8878, 4.1), which takes fewer bits for more frequent lengths, down to
// fractions of a bit.
type matches struct {
	codes  []byte   // the Match_Length_Code of each match
	extra  []uint16 // each length less the least length of its code
	counts [codesOfMatches]int
	norm   [codesOfMatches]int    // counts scaled to a sum of 1<<stateBits
	states [1 << stateBits]uint16 // the next states, those of each code one after the other

	// By code: what libzstd calls deltaNbBits and deltaFindState. A state plus bits, shifted right
	// by 16, is how many of the state's bits are written; the others plus state are the next one's
	// index.
	delta [codesOfMatches]struct{ bits, state int32 }
}

const (
	codesOfMatches = 53 // RFC 8878, 3.1.1.3.2.1.1
	stateBits      = 8  // the logarithm to base 2 of the number of states
	shortestMatch  = 3  // bytes
)

// The least length of each code from 32 on, and the number of extra bits that say how much is added
// to it (RFC 8878, 3.1.1.3.2.1.1, match lengths). A code below 32 is the length less three.
var (
	longMatches = [...]int{35, 37, 39, 41, 43, 47, 51, 59, 67, 83, 99, 131, 259, 515, 1027, 2051, 4099, 8195, 16387,
		32771, 65539}
	longBits = [...]int{1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
)

func (m *matches) reset() {
	m.codes, m.extra = m.codes[:0], m.extra[:0]
	clear(m.counts[:])
}

// add adds the length of the next match, between 3 and 131074 bytes.
func (m *matches) add(length int) {
	code, extra := length-shortestMatch, 0
	if length >= longMatches[0] {
		k := len(longMatches) - 1
		for longMatches[k] > length {
			k--
		}
		code, extra = 32+k, length-longMatches[k]
	}
	m.codes, m.extra = append(m.codes, byte(code)), append(m.extra, uint16(extra))
	m.counts[code]++
}

// append appends the sequences section (RFC 8878, 3.1.1.3.2). Every sequence has the given codes
// for literal length and offset; neither may take extra bits.
func (m *matches) append(dst []byte, literals, offset byte) []byte {
	dst = appendCount(dst, len(m.codes))
	if m.counts[m.codes[0]] == len(m.codes) {
		dst = append(dst, alikeSequences, literals, offset, m.codes[0])
		return m.bits(dst, 0)
	}
	m.scale()
	m.build()
	return m.bits(m.table(append(dst, matchesByTable, literals, offset)), stateBits)
}

// appendCount appends Number_of_Sequences.
func appendCount(dst []byte, n int) []byte {
	if n < 128 {
		return append(dst, byte(n))
	}
	return append(dst, byte(n>>8+128), byte(n))
}

// appendAlike appends the sequences section of n matches of one length between 3 and 34 bytes. The
// codes of such lengths have no extra bits, so the bitstream consists of nothing but its end mark.
func appendAlike(dst []byte, n, length int, literals, offset byte) []byte {
	return append(appendCount(dst, n), alikeSequences, literals, offset, byte(length-shortestMatch), 1)
}

// scale makes the counts add up to the number of states, with at least one for each code in use.
func (m *matches) scale() {
	left, most := 1<<stateBits, 0
	for code, n := range m.counts {
		m.norm[code] = 0
		if n > 0 {
			m.norm[code] = max(1, n<<stateBits/len(m.codes))
			left -= m.norm[code]
		}
		if n > m.counts[most] {
			most = code
		}
	}
	// Rounding up to one gives too many states to at most some twenty codes, since lengths are
	// multiples of eight less a width. The most frequent code has more than that to give back.
	m.norm[most] += left
}

// build makes the encoding table: the states of each code, spread as a decoder spreads them (RFC
// 8878, 4.1.1).
func (m *matches) build() {
	const size = 1 << stateBits
	var symbols [size]byte
	var first [codesOfMatches]int
	at, total := 0, 0
	for code, n := range m.norm {
		first[code] = total
		if n == 0 {
			continue
		}
		width := stateBits
		if n > 1 {
			width -= bits.Len(uint(n-1)) - 1
		}
		m.delta[code].bits = int32(width<<16 - n<<width)
		m.delta[code].state = int32(total - n)
		total += n
		for range n {
			symbols[at] = byte(code)
			at = (at + size>>1 + size>>3 + 3) & (size - 1)
		}
	}
	for state, code := range symbols {
		m.states[first[code]] = uint16(size + state)
		first[code]++
	}
}

// table appends the scaled counts, from which a decoder builds its table (RFC 8878, 4.1.1). Runs of
// counts of zero are written as repeat flags.
func (m *matches) table(dst []byte) []byte {
	var w bitWriter
	w.put(stateBits-5, 4)
	remaining, threshold, width := 1<<stateBits+1, 1<<stateBits, stateBits+1
	zero := false
	for code := 0; remaining > 1; {
		if zero {
			from := code
			for m.norm[code] == 0 {
				code++
			}
			for ; code >= from+3; from += 3 {
				w.put(3, 2)
				dst = w.flush(dst)
			}
			w.put(uint64(code-from), 2)
		}
		n := m.norm[code]
		code++
		most := 2*threshold - 1 - remaining
		remaining -= n
		zero = n == 0
		n++
		if n >= threshold {
			n += most
		}
		if n < most {
			w.put(uint64(n), width-1)
		} else {
			w.put(uint64(n), width)
		}
		for remaining < threshold {
			width--
			threshold >>= 1
		}
		dst = w.flush(dst)
	}
	return w.end(dst)
}

// bits appends the bitstream of the sequences (RFC 8878, 3.1.1.3.2.1.2). A decoder reads it from
// its end, so the last sequence comes first. A width of 0 is that of RLE mode, which has no states.
func (m *matches) bits(dst []byte, width int) []byte {
	var w bitWriter
	state := uint32(0)
	for i := len(m.codes) - 1; i >= 0; i-- {
		code := m.codes[i]
		if width > 0 {
			d := m.delta[code]
			n := (int32(state) + d.bits) >> 16
			if i == len(m.codes)-1 {
				n = (d.bits + 1<<15) >> 16
				state = uint32(n<<16 - d.bits)
			} else {
				w.put(uint64(state)&(1<<n-1), int(n))
			}
			state = uint32(m.states[int32(state>>n)+d.state])
		}
		if code >= 32 {
			w.put(uint64(m.extra[i]), longBits[code-32])
		}
		dst = w.flush(dst)
	}
	w.put(uint64(state)&(1<<width-1), width)
	w.put(1, 1) // the padding's first bit marks the end
	return w.end(dst)
}

// bitWriter collects bits, the lowest first.
type bitWriter struct {
	word uint64
	n    int
}

// put adds the n lowest bits of v, which has no others.
func (w *bitWriter) put(v uint64, n int) {
	w.word |= v << w.n
	w.n += n
}

// flush appends four bytes when as many are complete. At most 32 bits may be put between two calls.
func (w *bitWriter) flush(dst []byte) []byte {
	if w.n >= 32 {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(w.word))
		w.word >>= 32
		w.n -= 32
	}
	return dst
}

// end appends the bits that are left, filled up to whole bytes.
func (w *bitWriter) end(dst []byte) []byte {
	for ; w.n > 0; w.n -= 8 {
		dst = append(dst, byte(w.word))
		w.word >>= 8
	}
	return dst
}
