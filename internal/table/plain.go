package table

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// parsePlain reads a number of at most so many digits (never more than 19), without an exponent, as
// nearly every cell is. Its value is ±digits/10^decimals.
func parsePlain(text []byte, most int) (digits uint64, decimals int, negative, ok bool) {
	i := 0
	if len(text) > 0 && text[0] == '-' {
		negative, i = true, 1
	}
	if len(text)-i > most+1 {
		return 0, 0, false, false
	}
	count, point := 0, -1
	for ; i < len(text); i++ {
		d := text[i] - '0'
		if d <= 9 {
			digits = digits*10 + uint64(d)
			count++
			continue
		}
		if text[i] != '.' || point >= 0 {
			return 0, 0, false, false
		}
		point = count
	}
	if count == 0 || count > most {
		return 0, 0, false, false
	}
	if point >= 0 {
		decimals = count - point
	}
	return digits, decimals, negative, true
}

// quotient returns the double nearest to digits/10^decimals, for at most 19 digits and 19 decimals.
// It is used because ratios are written with all digits of their doubles, and strconv takes three
// times as long to read them.
func quotient(digits uint64, decimals int) float64 {
	if digits < 1<<53 {
		return float64(digits) / exactDoubles[decimals] // both are exact, so their quotient is the nearest double
	}
	power := powersOfTen[decimals]
	up, down := bits.LeadingZeros64(digits), bits.LeadingZeros64(power)
	digits, power = digits<<up, power<<down
	q, rest := bits.Div64(digits>>1, digits<<63, power) // 63 or 64 bits; a double keeps 53
	if rest > 0 {
		q |= 1 // so that the quotient doesn't look like exactly half of the last place of the double
	}
	return float64(q) * math.Float64frombits(uint64(1023+down-up-63)<<52) // times a power of two, which is exact
}

// eightDigits reads a cell of up to eight bytes, all digits except for at most one point, with a
// dozen operations on one word; the cell is in the lowest bytes of the word. The cell's value is
// digits/10^decimals. ok is false for any other cell.
func eightDigits(word uint64, size int) (digits uint64, decimals int, ok bool) {
	const zeros = '0' * ones
	word &= 1<<(8*size) - 1 // for eight bytes, the shift gives 0, and the mask all bits
	point := word ^ '.'*ones
	point = ^(point | (point&lows + lows)) & highs // the high bit of each point
	// The first point is taken out of the word. A second one isn't a digit.
	if point != 0 {
		at := bits.TrailingZeros64(point) - 7 // bits before the first point
		before := uint64(1)<<at - 1
		word = word&before | word>>8&^before
		size--
		decimals = size - at/8
	}
	if size == 0 {
		return 0, 0, false
	}
	word = word<<(64-8*size) | zeros>>(8*size)
	// Each byte must be a digit: 0x30 to 0x39.
	if (word&(0xf0*ones))|(word+0x06*ones)&(0xf0*ones)>>4 != 0x33*ones {
		return 0, 0, false
	}
	// Digits become pairs, pairs groups of four, and these the number.
	word = word & (0x0f * ones) * (10<<8 + 1) >> 8
	word = word & 0x00ff00ff00ff00ff * (100<<16 + 1) >> 16
	word = word & 0x0000ffff0000ffff * (10000<<32 + 1) >> 32
	return word, decimals, true
}

// shortWord loads a cell of one to eight bytes into a word. ok is false for any other size.
func shortWord(data []byte, c cell) (word uint64, size int, ok bool) {
	size = int(c.end - c.start)
	if uint(size-1) > 7 {
		return 0, 0, false
	}
	if int(c.start)+8 <= len(data) {
		return binary.LittleEndian.Uint64(data[c.start:]), size, true
	}
	for i, b := range data[c.start:c.end] {
		word |= uint64(b) << (8 * i)
	}
	return word, size, true
}
