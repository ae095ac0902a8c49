package table

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// specials finds the bytes that have a meaning in CSV, commas, line feeds and quotes, 64 bytes at a
// time.
type specials struct {
	data []byte
	base int    // where the 64 bytes of mask begin
	mask uint64 // a bit for every special byte of data[base:base+64]
}

// Words that have the same bits in each of their eight bytes.
const (
	ones  = 0x0101010101010101
	lows  = 0x7f7f7f7f7f7f7f7f
	highs = 0x8080808080808080
)

// next returns the index of the first special byte at or after p, or len(data) when there is none.
// p must be at least that of the last call.
func (s *specials) next(p int) int {
	m := s.mask >> uint(p-s.base)
	if m == 0 {
		return s.seek(p)
	}
	return p + bits.TrailingZeros64(m)
}

// seek does what next does when the mask has no special byte at or after p.
func (s *specials) seek(p int) int {
	if uint(p-s.base) < 64 {
		p = s.base + 64
	}
	for ; p < len(s.data); p += 64 {
		if s.scan(p); s.mask != 0 {
			return p + bits.TrailingZeros64(s.mask)
		}
	}
	return len(s.data)
}

// scan sets the mask for the 64 bytes at p.
func (s *specials) scan(p int) {
	s.base, s.mask = p, 0
	if len(s.data)-p < 64 {
		for i, c := range s.data[p:] {
			if !plainByte[c] {
				s.mask |= 1 << i
			}
		}
		return
	}
	block := (*[64]byte)(s.data[p:])
	for i := 0; i < 64; i += 8 {
		x := binary.LittleEndian.Uint64(block[i:])
		comma, line, quote := x^(','*ones), x^('\n'*ones), x^('"'*ones)
		// Sets the high bit of each byte that isn't zero. No sum carries into the next byte.
		comma |= comma&lows + lows
		line |= line&lows + lows
		quote |= quote&lows + lows
		found := ^(comma & line & quote) & highs
		s.mask |= found >> 7 * 0x0102040810204080 >> 56 << i // gathers the high bits of eight bytes in one
	}
}

// cutRows cuts rows of width cells, from p on, like cutRow but faster. It returns the number of
// rows and the index at which it stopped: before a row that isn't whole, is broken, or has another
// width. The caller cuts that row by cutRow.
func cutRows(s *specials, p, width int, cells []cell) (_ []cell, rows, next int) {
	for {
		begin := len(cells)
		cells = slices.Grow(cells, width)[:begin+width]
		next := cutPlainRow(s, p, cells[begin:])
		if next < 0 {
			return cells[:begin], rows, p
		}
		rows++
		p = next
	}
}

// cutPlainRow cuts a row and returns the index at which the next one begins, or -1 for a row that
// it leaves to cutRow.
func cutPlainRow(s *specials, p int, cells []cell) (next int) {
	data := s.data
	for i := range cells {
		at, end, mark := p, 0, uint32(0)
		if p < len(data) && data[p] == '"' {
			at++
			if end, mark = closingQuote(s, at); end == len(data) {
				return -1
			}
			p = end + 1
			if p+1 < len(data) && data[p] == '\r' && data[p+1] == '\n' {
				p++
			}
		} else {
			if m := s.mask >> uint(p-s.base); m != 0 { // what next does, without the call
				end = p + bits.TrailingZeros64(m)
			} else {
				end = s.seek(p)
			}
			p = end
		}
		if p >= len(data) {
			return -1
		}
		want := byte(',')
		if i == len(cells)-1 {
			want = '\n'
			if data[end] == '\n' && end > at && data[end-1] == '\r' {
				end--
			}
		}
		if data[p] != want {
			return -1
		}
		p++
		cells[i] = cell{uint32(at), uint32(end) | mark}
	}
	return p
}

// closingQuote returns the index of the quote that ends a cell whose content begins at p, or
// len(data) when there is none. mark is doubled when there are doubled quotes before it.
func closingQuote(s *specials, p int) (end int, mark uint32) {
	data := s.data
	for {
		q := s.next(p)
		switch {
		case q == len(data):
			return q, 0
		case data[q] != '"':
			p = q + 1
		case q+1 < len(data) && data[q+1] == '"':
			mark = doubled
			p = q + 2
		default:
			return q, mark
		}
	}
}
