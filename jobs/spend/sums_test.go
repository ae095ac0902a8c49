package spend

import (
	"testing"
	"time"
)

func TestDays(t *testing.T) {
	at := time.Date(2026, 1, 31, 23, 30, 0, 0, time.FixedZone("", -3600))
	if got := (Cost{Engaged: at}).day("2020-01-01"); got != "2026-02-01" {
		t.Error(got)
	}
	if got := (Cost{}).day("2020-01-01"); got != "2020-01-01" {
		t.Error(got)
	}
	if k, err := ParseKey(Key{"2026-01-31", "cpi", "usd"}.String()); err != nil || k != (Key{"2026-01-31", "cpi", "usd"}) {
		t.Error(k, err)
	}
}
