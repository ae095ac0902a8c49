package config

import (
	"slices"
	"testing"
)

// Periods that aren't fetched each night are fetched when a cohort of theirs is whole, and when it
// is final, inside the lookback too.
func TestProbeHasAllHorizons(t *testing.T) {
	for lookback, want := range map[string][]int{"auto": {10, 30, 37}, "probe": {3, 10, 30, 37}} {
		c, err := parseReport(t, "metrics: [installs, retention_rate_d3, roas_d30]", "dimensions: [day]",
			"lookback: "+lookback)
		if err != nil {
			t.Fatal(err)
		}
		if r := c.Jobs[0].Report; r.Lookback != 7 || !slices.Equal(r.Horizons, want) ||
			r.Probe != (lookback == "probe") {
			t.Errorf("lookback: %s: %d days, then at %v, probe %v; want 7 and %v", lookback, r.Lookback, r.Horizons,
				r.Probe, want)
		}
	}
}
