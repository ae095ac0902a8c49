//go:build !fuzz

package table

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/slow"
)

var (
	anyNumber   = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)
	farExponent = regexp.MustCompile(`[eE][+-]?0*[1-9][0-9]{4}`) // too far for fractions; TestNumbers has some
	plainNumber = regexp.MustCompile(`^([0-9]+\.?[0-9]*|\.[0-9]+)$`)
	numberTypes = []catalog.Type{catalog.Int64, catalog.Decimal, catalog.Double}
)

// naive reads a number the plain and slow way.
func naive(t catalog.Type, text string) (v int64, ok bool) {
	if !anyNumber.MatchString(text) {
		return 0, false
	}
	r, _ := new(big.Rat).SetString(text)
	switch t {
	case catalog.Int64:
		return r.Num().Int64(), r.IsInt() && r.Num().IsInt64()
	case catalog.Decimal:
		v, verdict := decimalOf(text)
		return v, verdict <= rounded
	}
	f, err := strconv.ParseFloat(text, 64)
	return int64(math.Float64bits(f + 0)), err == nil
}

// checkShort holds what is read at once, eight bytes at a time, and what isn't against the naive
// way.
func checkShort(t *testing.T, text string) {
	padded := []byte(text + "0.,-9e\xff\x00")
	for _, typ := range numberTypes {
		want, wantOK := naive(typ, text)
		got, _, v := numberParser(typ)([]byte(text))
		if v <= rounded != wantOK || wantOK && got != want {
			t.Fatalf("%v of %q: %d (%d), want %d %v", typ, text, got, v, want, wantOK)
		}
		for _, data := range [][]byte{padded, padded[:len(text)]} { // with bytes behind it, and at the end of its block
			word, size, ok := shortWord(data, cell{0, uint32(len(text))})
			if ok != (len(text) >= 1 && len(text) <= 8) {
				t.Fatalf("%q is short: %v", text, ok)
			}
			if !ok {
				continue
			}
			digits, decimals, ok := eightDigits(word, size)
			if ok != plainNumber.MatchString(text) {
				t.Fatalf("%q is digits: %v", text, ok)
			}
			if !ok {
				continue
			}
			exactly, _ := new(big.Rat).SetString(text)
			if decimals > 8 || exactly.Cmp(new(big.Rat).SetFrac(new(big.Int).SetUint64(digits),
				new(big.Int).SetUint64(powersOfTen[decimals]))) != 0 {
				t.Fatalf("%q is read as %d with %d decimals", text, digits, decimals)
			}
		}
	}
}

// Every text of up to three of these letters (four from -n 100 on), and longer ones by chance, is
// the same number or the same refusal, however it is read; and a converter keeps the numbers.
func TestShortNumbers(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	t.Logf("%d thousand drawn numbers, seed %d", *count, *seedFlag)
	const letters = "0123456789.-+eE ,\x00/:"
	var numbers [3][]string
	take := func(text string) {
		if farExponent.MatchString(text) {
			return
		}
		checkShort(t, text)
		for i, typ := range numberTypes {
			if _, ok := naive(typ, text); ok {
				numbers[i] = append(numbers[i], text)
			}
		}
	}
	longest := 3
	if *count >= 100 {
		longest = 4
	}
	var every func(text []byte)
	every = func(text []byte) {
		take(string(text))
		if len(text) < longest {
			for _, c := range []byte(letters) {
				every(append(text, c))
			}
		}
	}
	every(nil)
	r := rand.New(rand.NewPCG(*seedFlag, 6))
	for range *count * 1000 {
		text := make([]byte, 5+r.IntN(5))
		for i := range text {
			text[i] = letters[r.IntN(10)]
			if r.IntN(len(text)) == 0 {
				text[i] = letters[r.IntN(len(letters))]
			}
		}
		take(string(text))
	}
	for b := range 256 { // every byte in every place
		for at := range 8 {
			text := []byte("12345678")
			text[at] = byte(b)
			checkShort(t, string(text))
		}
	}
	rows := slices.Max([]int{len(numbers[0]), len(numbers[1]), len(numbers[2])})
	var csv bytes.Buffer
	csv.WriteString("0,1,2\n")
	for row := range rows {
		for i := range numberTypes {
			csv.WriteString(numbers[i][row%len(numbers[i])])
			csv.WriteByte(",,\n"[i])
		}
	}
	o := Options{Route: NoRoute, Partitions: []civil.Date{firstDay}, Dir: t.TempDir(), Codec: "none"}
	for i, typ := range numberTypes {
		o.Columns = append(o.Columns, Column{Name: strconv.Itoa(i), Source: strconv.Itoa(i), Type: typ,
			Dimension: true})
	}
	parts, err := convert(o, &csv)
	if err != nil {
		t.Fatal(err)
	}
	got := readPart(t, parts[0], o.Columns).rows
	for row := range rows {
		for i, typ := range numberTypes {
			text := numbers[i][row%len(numbers[i])]
			want, _ := naive(typ, text)
			said := strconv.FormatInt(want, 10)
			if typ == catalog.Double {
				said = strconv.FormatFloat(math.Float64frombits(uint64(want)), 'g', -1, 64)
			}
			if got[row][i] != said {
				t.Fatalf("%v %q is kept as %s, want %s", typ, text, got[row][i], said)
			}
		}
	}
	t.Logf("%d numbers are kept", rows)
	_ = os.Remove(parts[0].Path)
}

// A double is the nearest one to what is written, also where that is all but half way between two.
func TestNearestDouble(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text string
		if rapid.Bool().Draw(t, "halfway") {
			f := rapid.Float64Range(1e-3, 9e14).Draw(t, "double")
			half := new(big.Float).Add(big.NewFloat(f), big.NewFloat(math.Nextafter(f, math.Inf(1))))
			text = half.Quo(half, big.NewFloat(2)).Text('f', rapid.IntRange(0, 18).Draw(t, "decimals"))
		} else {
			digits := rapid.Uint64Range(0, 9_999_999_999_999_999_999).Draw(t, "digits")
			text = strconv.FormatUint(digits, 10)
			if point := rapid.IntRange(0, len(text)).Draw(t, "point"); point < len(text) {
				text = text[:point] + "." + text[point:]
			}
		}
		want, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, v := parseDouble([]byte(text)); v != fits || math.Float64frombits(uint64(got)) != want {
			t.Fatalf("%s is read as %v, want %v", text, math.Float64frombits(uint64(got)), want)
		}
	})
}
