package partition

import (
	"testing"

	"github.com/reportferry/reportferry/internal/table"
)

// What counts as taken away: more than the share, and as much as 20 rows or 100 units. Profits may
// fall by themselves.
func TestLoss(t *testing.T) {
	falling := Definition{Columns: []table.Column{{Name: "gain", Source: "gross_profit"},
		{Name: "cost", Source: "cost"}}}.falling()
	for _, c := range []struct {
		oldRows, rows int64
		old, now      map[string]string
		want          string
	}{
		{40, 20, nil, nil, ""},
		{41, 20, nil, nil, "rows"},
		{30, 11, nil, nil, ""}, // 19 rows
		{1, 1, map[string]string{"cost": "200"}, map[string]string{"cost": "99.9"}, "cost"},
		{1, 1, map[string]string{"cost": "200"}, map[string]string{"cost": "100"}, ""},
		{1, 1, map[string]string{"cost": "150"}, map[string]string{"cost": "51"}, ""}, // 99 dollars
		{1, 1, map[string]string{"cost": "500"}, map[string]string{}, ""},             // another column is asked for
		{1, 1, map[string]string{"cost": "-500"}, map[string]string{"cost": "-900"}, ""},
		{1, 1, map[string]string{"gain": "5000"}, map[string]string{"gain": "-900"}, ""},
	} {
		if what, _, _ := loss(c.oldRows, c.old, c.rows, c.now, UsualGuard, falling); what != c.want {
			t.Errorf("%d rows and %v became %d and %v: %q is lost, want %q", c.oldRows, c.old, c.rows, c.now, what,
				c.want)
		}
	}
}
