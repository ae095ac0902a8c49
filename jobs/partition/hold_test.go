package partition

import (
	"testing"

	"github.com/reportferry/reportferry/internal/table"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/refresh"
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

// An answer without an app that the token has shown waits for a person, also when a rebaseline was
// cut off in the middle of a put, so that readers may see numbers of either meaning.
func TestAnAppIsHiddenAfterARebaselineWasCutOff(t *testing.T) {
	old := ledger.Record{State: ledger.Publishing, Shape: "euros", Rows: 52, Sums: map[string]string{"installs": "695"}}
	answer := ledger.Record{Shape: "dollars", Rows: 39, Sums: map[string]string{"installs": "336"}}
	p := &Publication{Base: old, Guard: UsualGuard, Reason: refresh.Interrupted}
	if h := hold(p, &answer); h != nil {
		t.Errorf("numbers of two meanings are compared: %s", h.Why)
	}
	p.Hidden = []string{"abc"}
	if h := hold(p, &answer); h == nil {
		t.Error("an answer without an app isn't held back")
	}
}
