package push

import (
	"fmt"
	"strings"
	"unicode"
)

// A numberWriting says how one amount is written: the signs before its decimals and between its
// thousands. A sign is 0 when there is none, or when it can be read in more than one way.
type numberWriting struct{ decimal, thousands rune }

// numberWritingOf returns the signs in an amount, leaving out those of a currency. unclear says
// that three digits follow a single comma, which may be decimals or the rest of a thousand.
func numberWritingOf(cell string) (w numberWriting, unclear bool) {
	var signs []rune
	digits := 0 // behind the last sign
	// The signs in the amount, in their order.
	for _, r := range strings.TrimFunc(cell, func(r rune) bool { return !unicode.IsDigit(r) }) {
		switch {
		case unicode.IsDigit(r):
			digits++
			continue
		case unicode.IsSpace(r):
			r = ' '
		case r == '’':
			r = '\''
		case r != ',' && r != '.' && r != '\'':
			return numberWriting{}, false
		}
		signs, digits = append(signs, r), 0
	}
	// What the signs must be.
	n := len(signs)
	switch {
	case n == 0:
	case n > 1 && signs[0] != signs[n-1]:
		w = numberWriting{signs[n-1], signs[0]}
	case n > 1 || signs[0] == ' ' || signs[0] == '\'':
		w.thousands = signs[0]
	case digits == 3:
		return w, signs[0] == ','
	default:
		w.decimal = signs[0]
	}
	return w, false
}

// signNames maps the signs in amounts to their names in a config.
var signNames = map[rune]string{',': "comma", '.': "point", ' ': "space", '\'': "apostrophe"}

// findNumberSigns finds out which signs the file's amounts have before decimals and between
// thousands.
func (f *spendFile) findNumberSigns() {
	decimal, thousands, unclear := map[rune]int{}, map[rune]int{}, 0
	// How often each sign occurs, in all columns that may be the amount.
	for at, name := range f.Names {
		if rank, _ := rankOfName("cost_amount", name, func(string) bool { return true }); rank < 0 {
			continue
		}
		for _, row := range f.Rows {
			if at >= len(row) {
				continue
			}
			w, isUnclear := numberWritingOf(row[at])
			decimal[w.decimal]++
			thousands[w.thousands]++
			if isUnclear {
				unclear++
			}
		}
	}
	// The signs of the file, and notes on what isn't plain.
	if decimal[','] > 0 && decimal['.'] == 0 {
		f.Decimal = "comma"
	} else if decimal[','] > 0 {
		f.Notes = append(f.Notes, fmt.Sprintf("%d amounts have a decimal comma, and %d a decimal point: all are "+
			"taken for points", decimal[','], decimal['.']))
	}
	most := 0
	for sign, n := range thousands {
		if sign != 0 && signNames[sign] != f.Decimal && (n > most || n == most && signNames[sign] < f.Thousands) {
			most, f.Thousands = n, signNames[sign]
		}
	}
	switch {
	case unclear == 0 || f.Decimal == "comma" || f.Thousands == "comma":
	case decimal['.'] > 0: // so the comma, before three digits, isn't the decimal sign
		f.Thousands = "comma"
	default:
		f.Notes = append(f.Notes, "amounts such as 1,250 may be a thousand and more, or one and a quarter: say "+
			"which under format, decimal or thousands")
	}
}
