package ledger

import "testing"

func TestControlsInWords(t *testing.T) {
	for _, c := range []struct {
		control Control
		want    string
	}{
		{Control{State: Reconciled}, ""},
		{Control{State: Unchecked, Why: "reconcile is off"}, "reconcile is off"},
		{Control{State: Unreconciled, Differences: []Difference{{"cost", "69.960000", "211.120000",
			"app_token abc123, network X", ""}}},
			"cost 211.12 by the service's total, 69.96 in the rows; missing in app_token abc123, network X"},
		{Control{State: Unreconciled, Differences: []Difference{{"installs", "1200", "1000", "app_token abc", ""},
			{"time_spent_d1", "1e-07", "0", "", ""}}, Why: "asking again: 503"},
			"installs 1000 by the service's total, 1200 in the rows; too much in app_token abc; " +
				"time_spent_d1 0 by the service's total, 1e-07 in the rows; asking again: 503"},
		{Control{State: Unreconciled, Differences: []Difference{{"cost", "5.000000", "", "app_token abc", ""}}},
			"cost nothing by the service's total, 5 in the rows; too much in app_token abc"},
	} {
		if got := c.control.Say(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
