package catalog_test

import (
	"testing"

	"github.com/reportferry/reportferry/internal/catalog"
)

// Only the letters of ASCII have capitals.
func TestFold(t *testing.T) {
	for word, want := range map[string]string{"": "", "DISABLE": "disable", "DİSABLE": "dİsable", "HKD": "hkd",
		"H\u212aD": "h\u212ad", "ſKU": "ſku", "É": "É"} {
		if got := catalog.Fold(word); got != want {
			t.Errorf("%q becomes %q, want %q", word, got, want)
		}
	}
	if !catalog.SameWord("Idr", "iDR") || catalog.SameWord("İDR", "idr") || catalog.SameWord("\u212aRW", "krw") {
		t.Error("words are compared otherwise")
	}
}
