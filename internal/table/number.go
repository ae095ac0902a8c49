package table

import (
	"math"
	"strconv"

	"github.com/reportferry/reportferry/internal/parquet"
)

// A decimal is stored as a cell's value times a million, which is below 10^18 in magnitude.
const (
	decimalScale = parquet.DecimalScale
	decimalBound = 1_000_000_000_000_000_000
)

// The powers of ten, by exponent. Doubles hold all of these exactly.
var (
	exactDoubles = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
		1e16, 1e17, 1e18, 1e19}
	powersOfTen = func() (all [20]uint64) {
		for i, power := 0, uint64(1); i < len(all); i, power = i+1, power*10 {
			all[i] = power
		}
		return all
	}()
)

// signed returns the number with this magnitude and sign.
func signed(magnitude uint64, negative bool) int64 {
	if negative {
		return -int64(magnitude)
	}
	return int64(magnitude)
}

// parseInt64 reads a whole number in any notation: 12, 12.0 and 1.2e1 are the same. It has no
// decimals, however it is written.
func parseInt64(text []byte) (v int64, decimals int, _ parseResult) {
	if digits, decimals, negative, ok := parsePlain(text, 15); ok && decimals == 0 {
		return signed(digits, negative), 0, fits
	}
	n, ok := cutNumber(text)
	if !ok {
		return 0, 0, notNumber
	}
	magnitude, rest, ok := n.scaled(0)
	switch {
	case !ok:
		return 0, 0, notInt64
	case rest != exact:
		return 0, 0, notWhole
	case magnitude <= math.MaxInt64:
		return signed(magnitude, n.negative), 0, fits
	case magnitude == -math.MinInt64 && n.negative:
		return math.MinInt64, 0, fits
	}
	return 0, 0, notInt64
}

// parseRounded reads a count that may have a fraction. It rounds half to even, and its parseResult
// is rounded.
func parseRounded(text []byte) (v int64, decimals int, _ parseResult) {
	n, ok := cutNumber(text)
	if !ok {
		return 0, 0, notNumber
	}
	magnitude, rest, ok := n.scaled(0)
	if rest == aboveHalf || rest == half && magnitude%2 == 1 {
		magnitude++
	}
	if !ok || magnitude > math.MaxInt64 {
		return 0, 0, notInt64
	}
	return signed(magnitude, n.negative), n.decimals(), rounded
}

// parseDecimal reads a decimal as millionths, and returns how many decimals it was written with.
// More than six decimals are rounded half to even, and the parseResult is then rounded.
func parseDecimal(text []byte) (v int64, decimals int, _ parseResult) {
	if digits, decimals, negative, ok := parsePlain(text, 15); ok && decimals <= decimalScale {
		// A cell has at most twelve digits before the point, and so fits, if it has at most twelve
		// digits in all, or at most fifteen with at least three decimals.
		if digits < decimalBound/1_000_000 || decimals >= 3 {
			return signed(digits*powersOfTen[decimalScale-decimals], negative), decimals, fits
		}
	}
	n, ok := cutNumber(text)
	if !ok {
		return 0, 0, notNumber
	}
	magnitude, rest, ok := n.scaled(decimalScale)
	if !ok {
		return 0, 0, notDecimal
	}
	if rest == aboveHalf || rest == half && magnitude%2 == 1 {
		magnitude++
	}
	if magnitude >= decimalBound {
		return 0, 0, notDecimal
	}
	if rest != exact {
		return signed(magnitude, n.negative), n.decimals(), rounded
	}
	return signed(magnitude, n.negative), n.decimals(), fits
}

// parseDouble reads a number as the bits of the nearest double. Minus zero becomes zero, so that
// equal values have equal bits.
func parseDouble(text []byte) (_ int64, decimals int, _ parseResult) {
	var v float64
	digits, decimals, negative, ok := parsePlain(text, 19)
	if ok {
		v = quotient(digits, decimals)
		if negative {
			v = -v
		}
	} else {
		// cutNumber refuses what strconv would take: hexadecimal numbers, underscores, NaN and Inf.
		n, ok := cutNumber(text)
		if !ok {
			return 0, 0, notNumber
		}
		var err error
		if v, err = strconv.ParseFloat(string(text), 64); err != nil {
			return 0, 0, notDouble
		}
		decimals = n.decimals()
	}
	if v == 0 {
		return 0, decimals, fits
	}
	return int64(math.Float64bits(v)), decimals, fits
}

// number is a number cut into its parts: ±whole.fraction × 10^exponent.
type number struct {
	whole, fraction []byte
	exponent        int
	negative        bool
}

// cutNumber checks the syntax: an optional sign, digits with at most one point among them, an
// optional exponent.
func cutNumber(text []byte) (n number, ok bool) {
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		n.negative = text[0] == '-'
		text = text[1:]
	}
	n.whole, text = cutDigits(text)
	if len(text) > 0 && text[0] == '.' {
		n.fraction, text = cutDigits(text[1:])
	}
	if len(n.whole)+len(n.fraction) == 0 {
		return number{}, false
	}
	if len(text) == 0 {
		return n, true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return number{}, false
	}
	text = text[1:]
	sign := 1
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}
	digits, tail := cutDigits(text)
	if len(digits) == 0 || len(tail) != 0 {
		return number{}, false
	}
	for _, d := range digits {
		// The limit is far beyond the longest cell, so that a larger exponent changes nothing.
		n.exponent = min(n.exponent*10+int(d-'0'), 1<<40)
	}
	n.exponent *= sign
	return n, true
}

// cutDigits cuts a text behind the digits that it begins with.
func cutDigits(text []byte) (digits, tail []byte) {
	i := 0
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	return text[:i], text[i:]
}

// remainder says how the digits that were cut off compare with half a unit of the last digit kept.
type remainder uint8

const (
	exact remainder = iota
	belowHalf
	half
	aboveHalf
)

// scaled returns the whole part of the number's magnitude times 10^scale, exactly, and how its
// fraction compares with one half. ok is false when the whole part is beyond 64 bits.
func (n number) scaled(scale int) (magnitude uint64, rest remainder, ok bool) {
	total := len(n.whole) + len(n.fraction)
	point := len(n.whole) + n.exponent + scale // the number of digits before the scaled point, which may be negative
	for i := range total {
		d := uint64(n.digit(i))
		switch {
		case i < point:
			if magnitude > (math.MaxUint64-d)/10 {
				return 0, exact, false
			}
			magnitude = magnitude*10 + d
		case d == 0:
		case i > point:
			rest |= belowHalf // turns exact into belowHalf, and half into aboveHalf
		case d > 5:
			rest = aboveHalf
		case d == 5:
			rest = half
		default:
			rest = belowHalf
		}
	}
	for i := total; i < point && magnitude > 0; i++ {
		if magnitude > math.MaxUint64/10 {
			return 0, exact, false
		}
		magnitude *= 10
	}
	return magnitude, rest, true
}

// decimals returns how many decimals the number is written with, its exponent taken into account.
func (n number) decimals() int { return max(0, len(n.fraction)-n.exponent) }

// digit returns the digit at index i of whole and fraction together.
func (n number) digit(i int) byte {
	if i < len(n.whole) {
		return n.whole[i] - '0'
	}
	return n.fraction[i-len(n.whole)] - '0'
}
