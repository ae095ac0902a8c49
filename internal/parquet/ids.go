package parquet

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// appendIDs appends the dictionary indexes of a page, in the smallest of three forms. There is at
// least one index, and all are below distinct. Each form is valid RLE_DICTIONARY, in which the
// first byte of a page is the width of the indexes in bits:
//
//   - runs of equal indexes, when few indexes differ from the one before;
//   - indexes widened to 1, 2, 4, 8 or 16 bits, when that makes some bytes so much more frequent
//     than others that Huffman codes for them take less than the narrower third form;
//   - indexes of as many bits as the largest one needs.
func appendIDs(dst []byte, ids []uint32, distinct int) []byte {
	width := max(1, bits.Len(uint(distinct-1)))
	if changes(ids) < len(ids)/8 {
		return appendRuns(append(dst, byte(width)), ids, width)
	}
	if width <= 16 {
		from := len(dst)
		aligned := 1 << bits.Len(uint(width-1)) // 1, 2, 4, 8 or 16
		dst = appendBits(append(dst, byte(aligned)), ids, aligned)
		if frequencyBits(dst[from:]) < 0.98*float64(width*len(ids)) {
			return dst
		}
		dst = dst[:from]
	}
	return appendBits(append(dst, byte(width)), ids, width)
}

// changes counts the indexes that differ from the one before.
func changes(ids []uint32) int {
	n := 0
	last := ids[0]
	for _, id := range ids {
		if id != last {
			n++
		}
		last = id
	}
	return n
}

// frequencyBits estimates the bits of content in Huffman codes: the entropy of its bytes, and the
// table of codes.
func frequencyBits(content []byte) float64 {
	var counts [2][256]uint32 // two, because an increment waits for one of the same byte just before it
	for len(content) >= 2 {
		counts[0][content[0]]++
		counts[1][content[1]]++
		content = content[2:]
	}
	need, total, different := 0.0, 0.0, 0
	for i, n := range counts[0] {
		if n += counts[1][i]; n > 0 {
			f := float64(n)
			total += f
			need -= f * math.Log2(f)
			different++
		}
	}
	if total == 0 {
		return 0
	}
	return need + total*math.Log2(total) + float64(256+5*different)
}

// beginBits appends the header of a bit-packed run of n values, which come in groups of eight.
func beginBits(dst []byte, n int) []byte {
	return binary.AppendUvarint(dst, uint64(n+7)/8<<1|1)
}

// appendBits appends a bit-packed run.
func appendBits(dst []byte, ids []uint32, width int) []byte {
	dst = beginBits(dst, len(ids))
	from := len(dst)
	size := (len(ids) + 7) / 8 * width
	dst = append(dst, make([]byte, size+8)...) // room for a whole word at the end
	out := dst[from:]
	switch width {
	case 8:
		for i, id := range ids {
			out[i] = byte(id)
		}
	case 16:
		for i, id := range ids {
			binary.LittleEndian.PutUint16(out[2*i:], uint16(id))
		}
	default:
		word, filled, p := uint64(0), 0, 0
		for _, id := range ids {
			word |= uint64(id) << filled
			if filled += width; filled >= 32 {
				binary.LittleEndian.PutUint32(out[p:], uint32(word))
				p += 4
				word >>= 32
				filled -= 32
			}
		}
		binary.LittleEndian.PutUint64(out[p:], word)
	}
	return dst[:from+size]
}

// appendRuns appends runs of equal indexes, and bit-packed runs of those between them.
func appendRuns(dst []byte, ids []uint32, width int) []byte {
	from := 0 // ids[from:i] wait to be bit-packed, by eights
	for i := 0; i < len(ids); {
		n := 1 // the length of the run that begins at i
		for i+n < len(ids) && ids[i+n] == ids[i] {
			n++
		}
		if fill := -(i - from) & 7; n >= 8+fill {
			i, n = i+fill, n-fill
			if i > from {
				dst = appendBits(dst, ids[from:i], width)
			}
			dst = binary.AppendUvarint(dst, uint64(n)<<1)
			for b := 0; b < width; b += 8 {
				dst = append(dst, byte(ids[i]>>b))
			}
			from = i + n
		}
		i += n
	}
	if from < len(ids) {
		dst = appendBits(dst, ids[from:], width)
	}
	return dst
}
