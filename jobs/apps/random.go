package apps

import (
	"strings"
	"unicode"

	"github.com/reportferry/reportferry/internal/lazy"
)

// keyText finds a text that is long enough to be a key, without blanks and without marks that end a
// name.
var keyText = lazy.Regexp(`[A-Za-z0-9_+/=~-]{16,}`)

// secretValue reports whether a text looks random, as keys do: long, with letters and digits in no
// order. Words with numbers between them don't.
func secretValue(s string) bool {
	const letters, digits = 1, 2
	// In each part, changes counts how often letters and digits alternate, and upper the letters
	// whose case is unusual after the character before.
	for _, part := range keyText().FindAllString(s, -1) {
		changes, upper, last, kinds := 0, 0, 0, 0
		var before rune
		for _, r := range part {
			kind := 0 // a mark between words, which is no change of kind
			switch {
			case unicode.IsDigit(r):
				kind = digits
			case unicode.IsLetter(r):
				kind = letters
			}
			if kind != 0 && last != 0 && kind != last {
				changes++
			}
			if unicode.IsUpper(r) && before != 0 && (unicode.IsUpper(before) || unicode.IsDigit(before)) ||
				unicode.IsLower(r) && unicode.IsDigit(before) {
				upper++
			}
			last, kinds = kind, kinds|kind
			before = r
		}
		if kinds == letters|digits && changes >= 4 || upper >= 4 && kinds == letters && strings.ToUpper(part) != part {
			return true
		}
	}
	return false
}
