package see

import "testing"

// A number is rounded to two decimals, and a text that is none stays as it is.
func TestShortNumber(t *testing.T) {
	for text, want := range map[string]string{
		"12.345": "12.35", "-12.345": "-12.35", "12.3": "12.3", "0.001234": "0.001234", "7": "7", "": "", "NaN": "NaN",
	} {
		if got := shortNumber(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
