package table

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// specials finds the bytes that mean something to a cell, commas, line feeds and quotes, 64 bytes at a time.
type specials struct {
	data []byte
	base int    // of the bytes that mask is about
	mask uint64 // a bit for every special byte of data[base:base+64]
}

const (
	ones  = 0x0101010101010101
	lows  = 0x7f7f7f7f7f7f7f7f
	highs = 0x8080808080808080
)

// next is the place of the first special byte at p or behind it; len(data) when there is none. Places only grow.
func (s *specials) next(p int) int {
	for {
		if d := uint(p - s.base); d < 64 {
			if m := s.mask >> d; m != 0 {
				return p + bits.TrailingZeros64(m)
			}
			p = s.base + 64
		}
		if p >= len(s.data) {
			return len(s.data)
		}
		s.look(p)
	}
}

// look makes the mask of the 64 bytes at p.
func (s *specials) look(p int) {
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
		// The high bit of each byte that isn't zero, and no carry into the next byte.
		comma |= comma&lows + lows
		line |= line&lows + lows
		quote |= quote&lows + lows
		found := ^(comma & line & quote) & highs
		s.mask |= found >> 7 * 0x0102040810204080 >> 56 << i // the high bits, gathered
	}
}

// cutRows cuts rows of so many cells, from p on, as cutRow does, and tells where it stopped: before a row that is broken,
// not whole, or of another width, which cutRow then judges.
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

// cutPlainRow cuts a row and tells where the next one begins; -1 when there is anything special about it.
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
			end = s.next(p)
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

// closingQuote is the place of the quote that ends a cell whose content begins at p; len(data) when there is none.
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
