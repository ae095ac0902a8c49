package push

import (
	"math/big"
	"testing"
)

// A figure is compared as far as its decimals go; none is less.
func TestSumsAreCompared(t *testing.T) {
	for _, c := range []struct {
		pushed              int64 // in units of five decimals
		reported            string
		difference, verdict string
	}{
		{10_000_000, "100", "0", isEqual}, {10_000_000, "1962.763209", "1862.763209", isMore}, {10_000_000, "99.99", "-0.01", isLess},
		{1_234_567, "12.35", "0.00433", isEqual}, {1_234_567, "12.34567", "0", isEqual}, {1_234_567, "12.345", "-0.00067", isLess},
		{1_234_567, "", "-12.34567", isLess}, {1_234_567, "12", "-0.34567", isEqual}, {150_000, "1", "-0.5", isEqual}, {160_000, "1", "-0.6", isLess},
	} {
		s := &spendSum{amount: *big.NewInt(c.pushed), reported: c.reported}
		if difference, verdict := s.compare(); difference != c.difference || verdict != c.verdict {
			t.Errorf("%d and %q: %s, %s; want %s, %s", c.pushed, c.reported, difference, verdict, c.difference, c.verdict)
		}
	}
}
