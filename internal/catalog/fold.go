package catalog

import "strings"

// Fold gives a word of the service's contract in small letters: those of ASCII, and no others. Unicode would make i of İ and k
// of the Kelvin sign, and so a currency or a choice of a text that is none.
func Fold(word string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, word)
}

// SameWord tells whether two words of the contract are one, however their letters are written.
func SameWord(a, b string) bool { return Fold(a) == Fold(b) }
