package spend

import (
	"testing"

	"github.com/reportferry/reportferry/internal/emulator/facts"
)

// What a row comes to in micros of USD: exact where it can be, else the next one up.
func TestSpendRounding(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pricing  uint8
		currency string
		units    int64 // of 0.00001
		want     int64
	}{
		{facts.PayClick, "usd", 1, 10}, {facts.PayImpression, "usd", 1, 1}, {facts.PayImpression, "usd", 100, 1},
		{facts.PayImpression, "usd", 101, 2},
		{facts.PayInstall, "eur", 92_000, 1_000_000}, {facts.PayInstall, "eur", 1, 11},
		{facts.PayEvent, "jpy", 15_000_000, 1_000_000}, {facts.PayEvent, "jpy", 1, 1},
		{facts.PayClick, "usd", 0, 0}, {facts.PayClick, "idr", 99_999_999_999_999, 62_500_000_000},
	} {
		row := &factRow{pricing: c.pricing, entries: []entry{{currency: isoNumber[c.currency], records: 1,
			sum: c.units}}}
		if got := row.micros(); got != c.want {
			t.Errorf("%d units of %s: %d, want %d", c.units, c.currency, got, c.want)
		}
	}
}
