package spend

import (
	"fmt"
	"strings"
)

// A Key is what accepted spend is summed up by. Reports show no tags, but a tag says which of the
// records to look for.
type Key struct {
	Day      string // 2026-01-31, in UTC
	Type     string
	Currency string
	Tag      string // empty: it isn't on record
}

func (k Key) String() string {
	return strings.TrimSuffix(k.Day+" "+k.Type+" "+k.Currency+" "+k.Tag, " ")
}

// ParseKey reads what String writes.
func ParseKey(s string) (Key, error) {
	parts := strings.SplitN(s, " ", 4)
	switch len(parts) {
	case 3:
		parts = append(parts, "") // of an earlier version, or one tag too many
	case 4:
	default:
		return Key{}, fmt.Errorf("read the sums of spend: %q isn't a day, a type, a currency and a tag", s)
	}
	return Key{parts[0], parts[1], parts[2], parts[3]}, nil
}

// Decimals of the amounts in outbox.Sum.
const Decimals = mostDecimals

// mostTags of a file are summed up each on its own in one run. A tag is meant to be the same in
// many records, and the sums are in memory and in the ledger.
const mostTags = 100

// tally gives the key and the amount of each record of a file of that day. Records with other tags
// than the first so many are summed up without one, and so are those whose tag would name the
// click. A row that doesn't say what it costs has no key.
func tally(day string) func(Cost) (string, int64) {
	seen := map[string]bool{}
	return func(r Cost) (string, int64) {
		if r.Type == "" || r.Currency == "" || r.Amount == "" {
			return "", 0 // of a row that isn't right
		}
		k := Key{Day: r.day(day), Type: r.Type, Currency: r.Currency}
		if !strings.Contains(r.Tag, r.CostID) && (seen[r.Tag] || len(seen) < mostTags) {
			seen[r.Tag] = true
			k.Tag = r.Tag
		}
		return k.String(), units(r.Amount)
	}
}
