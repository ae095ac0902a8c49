package facts

import (
	"slices"
	"strings"
	"testing"
)

// The currencies with a rate are those of ISO 4217, each once, and worth something.
func TestRatesAreOfKnownCurrencies(t *testing.T) {
	t.Parallel()
	want := strings.Fields(
		`AED ARS AUD BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KRW KWD MXN MYR NGN NOK NZD PEN PHP PLN RON RUB
		SAR SEK SGD THB TRY TWD UAH USD VND ZAR`)
	var codes []string
	names := map[string]bool{}
	for _, r := range Rates {
		codes = append(codes, r.Code)
		if names[r.Name] || r.Num < 1 || r.Den < 1 || r.Label("currency_code") != r.Code ||
			r.Label("currency") != r.Name {
			t.Errorf("%+v", r)
		}
		names[r.Name] = true
	}
	if slices.Sort(codes); !slices.Equal(codes, want) {
		t.Errorf("%q\nwant %q", codes, want)
	}
}
