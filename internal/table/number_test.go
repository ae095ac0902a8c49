//go:build !fuzz

package table

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		text     string
		int64    string // the value, or the verdict's reason begins with...
		decimal  string
		double   string
		decimalV parseResult
	}{
		{text: "0", int64: "0", decimal: "0", double: "0"},
		{text: "-0.0", int64: "0", decimal: "0", double: "0"},
		{text: "12.0", int64: "12", decimal: "12000000", double: "12"},
		{text: "12.5", int64: "!", decimal: "12500000", double: "12.5"},
		{text: "+7", int64: "7", decimal: "7000000", double: "7"},
		{text: "1e3", int64: "1000", decimal: "1000000000", double: "1000"},
		{text: "1.5E-3", int64: "!", decimal: "1500", double: "0.0015"},
		{text: "5e-7", int64: "!", decimal: "0", double: "5e-07", decimalV: rounded},
		{text: "0.0000015", int64: "!", decimal: "2", double: "1.5e-06", decimalV: rounded},
		{text: "-0.0000025", int64: "!", decimal: "-2", double: "-2.5e-06", decimalV: rounded},
		{text: "0.00000250000000001", int64: "!", decimal: "3", double: "2.50000000001e-06", decimalV: rounded},
		{text: "0.10000000000", int64: "!", decimal: "100000", double: "0.1"},
		{text: "0.30000000000000004", int64: "!", decimal: "300000", double: "0.30000000000000004", decimalV: rounded},
		{text: "999999999999.999999", int64: "!", decimal: "999999999999999999", double: "1e+12"},
		{text: "-999999999999.999999", int64: "!", decimal: "-999999999999999999", double: "-1e+12"},
		{text: "999999999999.9999995", int64: "!", decimal: "!", double: "1e+12"},
		{text: "1000000000000", int64: "1000000000000", decimal: "!", double: "1e+12"},
		{text: "1234567890123.45", int64: "!", decimal: "!", double: "1.23456789012345e+12"},
		{text: "-123456789012.345", int64: "!", decimal: "-123456789012345000", double: "-1.23456789012345e+11"},
		{text: "000000000000000000012", int64: "12", decimal: "12000000", double: "12"},
		{text: "9223372036854775807", int64: "9223372036854775807", decimal: "!", double: "9.223372036854776e+18"},
		{text: "9223372036854775808", int64: "!", decimal: "!", double: "9.223372036854776e+18"},
		{text: "-9223372036854775808", int64: "-9223372036854775808", decimal: "!", double: "-9.223372036854776e+18"},
		{text: "-9223372036854775809", int64: "!", decimal: "!", double: "-9.223372036854776e+18"},
		{text: "0e999999999999999999999", int64: "0", decimal: "0", double: "0"},
		{text: "1e999999999999999999999", int64: "!", decimal: "!", double: "!"},
		{text: "1e-99999999999999999999", int64: "!", decimal: "0", double: "0", decimalV: rounded},
	} {
		check := func(what, want string, got string, v parseResult, wantV parseResult) {
			t.Helper()
			if want == "!" {
				if v <= rounded {
					t.Errorf("%s %q = %s, want an error", what, c.text, got)
				}
			} else if got != want || v != wantV {
				t.Errorf("%s %q = %s (%d), want %s (%d)", what, c.text, got, v, want, wantV)
			}
		}
		n, _, v := parseInt64([]byte(c.text))
		check("int64", c.int64, strconv.FormatInt(n, 10), v, fits)
		n, _, v = parseDecimal([]byte(c.text))
		check("decimal", c.decimal, strconv.FormatInt(n, 10), v, c.decimalV)
		n, _, v = parseDouble([]byte(c.text))
		check("double", c.double, strconv.FormatFloat(math.Float64frombits(uint64(n)), 'g', -1, 64), v, fits)
	}
}

func TestNoNumbers(t *testing.T) {
	for _, text := range []string{
		"", " ", " 1", "1 ", "1,000", "1_000", "0x10", "0b1", "1.2.3", "--1", "+-1", "-", "+", ".", "-.", "e5", "1e",
		"1e+", "1e5.0",
		"NaN", "nan", "Inf", "-Infinity", "1.", ".5", "0x1p-2", "1e5 ", "١", "12a", "1\x00", "∞", "$1", "1%",
	} {
		fine := text == "1." || text == ".5"
		for name, parse := range map[string]func([]byte) (int64, int, parseResult){"int64": parseInt64,
			"decimal": parseDecimal, "double": parseDouble} {
			_, _, v := parse([]byte(text))
			if fine && (v == notNumber) || !fine && v != notNumber {
				t.Errorf("%s of %q: verdict %d", name, text, v)
			}
		}
	}
}

// numberText draws the text of a number, of any size and form.
func numberText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		digits := rapid.StringMatching(`[0-9]{0,24}`)
		whole, fraction := digits.Draw(t, "whole"), digits.Draw(t, "fraction")
		if rapid.Bool().Draw(t, "zeros") {
			whole, fraction = strings.Repeat("0", len(whole)%5)+whole[len(whole)/2:], fraction+"000"
		}
		s := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign") + whole
		if fraction != "" {
			s += "." + fraction
		}
		if whole+fraction == "" {
			s += "0"
		}
		if rapid.IntRange(0, 3).Draw(t, "with exponent") == 0 {
			s += "e" + strconv.Itoa(rapid.IntRange(-30, 30).Draw(t, "exponent"))
		}
		return s
	})
}

// decimalOf is the slow and plain way: exact fractions.
func decimalOf(text string) (millionths int64, v parseResult) {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, notNumber
	}
	r.Mul(r, big.NewRat(1_000_000, 1))
	q, m := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	v = fits
	if m.Sign() != 0 {
		v = rounded
		switch m.Lsh(m, 1).Cmp(r.Denom()) {
		case 1:
			q.Add(q, big.NewInt(1))
		case 0:
			q.Add(q, big.NewInt(int64(q.Bit(0))))
		}
	}
	if q.CmpAbs(big.NewInt(decimalBound)) >= 0 {
		return 0, notDecimal
	}
	return q.Int64(), v
}

// decimalsOf counts the digits behind the point, which an exponent moves.
func decimalsOf(text string) int {
	mantissa, exponent, _ := strings.Cut(text, "e")
	_, fraction, _ := strings.Cut(mantissa, ".")
	moved, _ := strconv.Atoi(exponent)
	return max(0, len(fraction)-moved)
}

func TestNumbersAgainstFractions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := numberText().Draw(t, "number")
		want, wantV := decimalOf(text)
		got, decimals, v := parseDecimal([]byte(text))
		if got != want || v != wantV {
			t.Fatalf("decimal %s = %d (%d), want %d (%d)", text, got, v, want, wantV)
		}
		if v <= rounded && decimals != decimalsOf(text) {
			t.Fatalf("%s has %d decimals, want %d", text, decimals, decimalsOf(text))
		}
		r, _ := new(big.Rat).SetString(text)
		got, _, v = parseInt64([]byte(text))
		switch whole := r.IsInt(); {
		case whole && r.Num().IsInt64():
			if v != fits || got != r.Num().Int64() {
				t.Fatalf("int64 %s = %d (%d), want %s", text, got, v, r.Num())
			}
		case v == fits:
			t.Fatalf("int64 %s = %d, want an error", text, got)
		}
		double, err := strconv.ParseFloat(text, 64)
		got, decimals, v = parseDouble([]byte(text))
		if decimals != decimalsOf(text) {
			t.Fatalf("double %s has %d decimals, want %d", text, decimals, decimalsOf(text))
		}
		if err != nil || v != fits || math.Float64frombits(uint64(got)) != double || got == math.MinInt64 {
			t.Fatalf("double %s = %v (%d), want %v %v", text, math.Float64frombits(uint64(got)), v, double, err)
		}
	})
}
