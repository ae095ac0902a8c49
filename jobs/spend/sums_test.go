package spend

import (
	"fmt"
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
	for _, key := range []Key{{"2026-01-31", "cpi", "usd", ""}, {"2026-01-31", "cpi", "usd", "a tag of  words"}} {
		if k, err := ParseKey(key.String()); err != nil || k != key {
			t.Error(k, err)
		}
	}
}

// A file of a tag for each record has as many sums as a file may have, and none tells of a click.
func TestTallyIsBounded(t *testing.T) {
	sum := tally("2026-01-31")
	keys := map[string]int{}
	for i := range 3 * mostTags {
		key, _ := sum(Cost{Type: "cpi", Currency: "usd", Amount: "1", CostID: "some-cost-id",
			Tag: fmt.Sprint("tag ", i)})
		keys[key]++
		key, _ = sum(Cost{Type: "cpi", Currency: "usd", Amount: "1", CostID: "some-cost-id", Tag: "of some-cost-id"})
		keys[key]++
	}
	if len(keys) != mostTags+1 || keys["2026-01-31 cpi usd"] != 5*mostTags {
		t.Errorf("%d keys, %d records without a tag", len(keys), keys["2026-01-31 cpi usd"])
	}
}
