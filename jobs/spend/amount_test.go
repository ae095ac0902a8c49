//go:build !fuzz

package spend

import (
	"strings"
	"testing"

	"github.com/cockroachdb/apd/v3"
	"pgregory.net/rapid"
)

// An independent decimal library agrees on which numbers are taken, and on their values.
func TestAmountsAgainstAPD(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(
			rapid.StringMatching(`-?[0-9]{0,14}(\.[0-9]{0,8})?0{0,3}`),
			rapid.StringMatching(`[0-9.eE+-]{0,6}`),
		).Draw(t, "s")
		got, reason := amount(s)
		d, _, err := apd.NewFromString(s)
		taken := err == nil && d.Form == apd.Finite && !strings.ContainsAny(s, "eE+-") // apd takes ".-0" for 0
		if taken {
			var reduced apd.Decimal
			reduced.Reduce(d)
			taken = max(0, -reduced.Exponent) <= mostDecimals &&
				len(strings.TrimLeft(strings.SplitN(s, ".", 2)[0], "0")) <= mostDigits
			d = &reduced
		}
		if taken != (reason == "") {
			t.Fatalf("%q: got %q, %q; apd: %v, %v", s, got, reason, d, err)
		}
		if !taken {
			return
		}
		if want := d.Text('f'); got != want {
			t.Fatalf("%q: got %q, want %q", s, got, want)
		}
		again, _ := amount(got)
		if again != got {
			t.Fatalf("%q is spelled %q, and that %q", s, got, again)
		}
		scaled := apd.New(units(got), -mostDecimals)
		if scaled.Cmp(d) != 0 {
			t.Fatalf("%q is %d units", got, units(got))
		}
	})
}
