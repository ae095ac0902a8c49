package table

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"github.com/reportferry/reportferry/internal/catalog"
)

// tally counts the cells of one column of a partition.
type tally struct {
	nulls, rounded int64
	altered        []Alteration // without the cells that rounded counts
	cells          int64        // cells that aren't zero, in columns of decimals and doubles
	decimals       int          // the most decimals that a cell was written with
	// The sum of whole numbers and decimals, in two's complement of 128 bits, which no number of
	// rows exceeds.
	high, low uint64
	// The sum of doubles and what rounding lost (Neumaier's summation), so that the order of rows
	// hardly matters.
	floatSum, floatLost float64
}

// add adds values of a type to the sum, as the file stores them.
func (t *tally) add(typ catalog.Type, values []int64) {
	if typ != catalog.Int64 {
		for _, v := range values {
			if v != 0 {
				t.cells++
			}
		}
	}
	if typ != catalog.Double {
		upper, lower := int64(0), uint64(0) // sums of the 32-bit halves; those of a batch always fit 64 bits
		for _, v := range values {
			upper += v >> 32
			lower += uint64(uint32(v))
		}
		t.addInt128(uint64(upper>>32), uint64(upper)<<32)
		t.addInt128(0, lower)
		return
	}
	for _, bits := range values {
		v := math.Float64frombits(uint64(bits))
		s := t.floatSum + v
		if math.Abs(t.floatSum) >= math.Abs(v) {
			t.floatLost += (t.floatSum - s) + v
		} else {
			t.floatLost += (v - s) + t.floatSum
		}
		t.floatSum = s
	}
}

// addInt128 adds a whole number of 128 bits, given as its upper and its lower half.
func (t *tally) addInt128(high, low uint64) {
	var carry uint64
	t.low, carry = bits.Add64(t.low, low, 0)
	t.high += high + carry
}

// total returns the sum as text: a whole number, a decimal with six decimals, or a float.
func (t *tally) total(typ catalog.Type) string {
	if typ == catalog.Double {
		return strconv.FormatFloat(t.floatSum+t.floatLost, 'g', -1, 64)
	}
	n := new(big.Int).Lsh(big.NewInt(int64(t.high)), 64)
	n.Add(n, new(big.Int).SetUint64(t.low))
	if typ == catalog.Int64 {
		return n.String()
	}
	sign := ""
	if n.Sign() < 0 {
		sign = "-"
	}
	whole, millionths := new(big.Int).QuoRem(n.Abs(n), big.NewInt(1_000_000), new(big.Int))
	return fmt.Sprintf("%s%s.%06d", sign, whole, millionths.Int64())
}

// An Alteration says that cells of a column were altered when they were stored, or left out.
type Alteration struct {
	Column string // its Name; of a column that wasn't asked for, as the header has it
	What   string // what happened to them, as the rest of a sentence
	Cells  int64  // how many there are
	Row    int64  // data row of the first such cell in its answer, from 1
	Value  string // the first such cell, quoted and shortened; empty when the whole column is meant

	kind string // one of the constants below
	word string // with noValue, the word in the cells; else empty
}

// The kinds of alterations. With noValue, each word in place of a number has its own Alteration.
const (
	badText  = "bytes that aren't UTF-8 became U+FFFD"
	nulText  = "the character U+0000 was left out"
	fraction = "a fraction was rounded to a whole number"
	noValue  = "is no number, and became NULL"
	unasked  = "the column wasn't asked for, and was left out"
)

// alter counts a cell of column i that is stored in another form. what is the kind of alteration.
func (a *csvRows) alter(b *batch, i, row int, what string, text []byte) {
	m, _ := b.member(row)
	t, word := &m.tally[i], ""
	if what == noValue {
		word = string(text)
	}
	for k := range t.altered {
		if t.altered[k].kind == what && t.altered[k].word == word {
			t.altered[k].Cells++
			return
		}
	}
	sentence := what
	if word != "" {
		sentence = shorten(text) + " " + what
	}
	t.altered = append(t.altered, Alteration{Column: a.columns[i].Name, What: sentence, Cells: 1,
		Row: a.block.first + int64(b.from+row), Value: shorten(text), kind: what, word: word})
}

// mend returns a text as the file and its sinks can store it: in valid UTF-8, and without NUL
// characters if they are to be left out.
func (a *csvRows) mend(b *batch, i, row int, text []byte) []byte {
	if valid := bytes.ToValidUTF8(text, []byte("\ufffd")); len(valid) != len(text) || !bytes.Equal(valid, text) {
		a.alter(b, i, row, badText, text)
		text = valid
	}
	if a.mending.DropNUL && bytes.IndexByte(text, 0) >= 0 {
		a.alter(b, i, row, nulText, text)
		text = bytes.ReplaceAll(text, []byte{0}, nil)
	}
	return text
}
