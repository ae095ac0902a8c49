package outbox

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What a spreadsheet would compute has a mark before it; all else is the cell itself, numbers with
// a sign too.
func TestGuarded(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "a": "a", "=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)", "-1.25": "-1.25", "+1.234,5": "+1.234,5", "-": "'-",
		"--1":  "'--1",
		"-1+1": "'-1+1", "+49 30": "'+49 30", "-Nxk3": "'-Nxk3", "'": "''", "'=1": "''=1", "'a": "''a", "\tx": "'\tx",
		"\rx": "'\rx", "a=1": "a=1", "é": "é",
	} {
		if got := Guarded(cell); got != want {
			t.Errorf("%q is %q, want %q", cell, got, want)
		}
	}
}

// Whatever a cell holds, it comes back, and nothing of a rejects file begins as a formula.
func TestGuardedComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.OneOf(rapid.String(), rapid.StringMatching(`[-=+@'\t0-9.,a]{0,6}`)).Draw(t, "cell")
		guarded := Guarded(cell)
		if got := Unguarded(guarded); got != cell {
			t.Fatalf("%q is %q, and comes back as %q", cell, guarded, got)
		}
		if guarded != "" && strings.ContainsRune(formulas, rune(guarded[0])) && !isNumber(guarded) {
			t.Fatalf("%q is %q", cell, guarded)
		}
	})
}

func TestFit(t *testing.T) {
	for _, c := range []struct{ cells, want string }{
		{"a,b,c", "a,b,c"}, {"a", "a,,"}, {"a,b,c,d,e", "a,b,c;d;e"},
	} {
		if got := fit([]string{}, strings.Split(c.cells, ","), 3, ';'); !slices.Equal(got, strings.Split(c.want, ",")) {
			t.Errorf("%s is %q", c.cells, got)
		}
	}
}
