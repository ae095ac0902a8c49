package report

import (
	"testing"

	"github.com/reportferry/reportferry/internal/catalog"
	"github.com/reportferry/reportferry/internal/table"
)

// A type of the config's changes how a number is kept and not what it is; of a metric that the
// catalogue lacks it is all that is known.
func TestUnitsOfDeclaredTypes(t *testing.T) {
	for _, c := range []struct {
		name        string
		typ         catalog.Type
		unit, final string
	}{
		{"cost", catalog.Double, "money", "14 days after the period"}, // without ad_spend_mode
		{"clicks", catalog.Double, "count", "7 days after the period"},
		{"own_count", catalog.Int64, "count", "not known; taken for 7 days after the period"},
		{"own_money_d14", catalog.Decimal, "money", "21 days after the period of the install"},
	} {
		got := Options{}.describe(table.Column{Name: c.name, Source: c.name, Type: c.typ})
		if got.Unit != c.unit || got.Final != c.final {
			t.Errorf("%s: %q, %q; want %q, %q", c.name, got.Unit, got.Final, c.unit, c.final)
		}
	}
}
