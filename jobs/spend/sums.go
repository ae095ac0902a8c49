package spend

import (
	"fmt"
	"strings"
)

// A Key is what accepted spend is grouped by when it is summed up. Reports show no tags, but a tag
// says which of the records to look for.
type Key struct {
	Day      string // 2026-01-31, in UTC
	Type     string
	Currency string
	Tag      string // empty: none was recorded
}

// String returns the parts of the key with blanks between them; the tag is the last.
func (k Key) String() string {
	return strings.TrimSuffix(k.Day+" "+k.Type+" "+k.Currency+" "+k.Tag, " ")
}

// ParseKey parses what String returns.
func ParseKey(s string) (Key, error) {
	parts := strings.SplitN(s, " ", 4)
	switch len(parts) {
	case 3:
		parts = append(parts, "") // written by an earlier version, or beyond mostTags
	case 4:
	default:
		return Key{}, fmt.Errorf("read the sums of spend: %q isn't a day, a type, a currency and a tag", s)
	}
	return Key{parts[0], parts[1], parts[2], parts[3]}, nil
}

// Decimals is how many decimals the amounts in outbox.Sum have.
const Decimals = mostDecimals

// mostTags is how many tags of a file are summed up separately in one run. A tag is meant to be the
// same in many records, and the sums are kept in memory and in the ledger.
const mostTags = 100

// tally returns a function that returns the key and the amount of each record of a file of that
// day. The key has no tag after the first mostTags tags, and for a tag that contains the Cost ID. A
// row that doesn't say what it costs has the key "".
func tally(day string) func(Cost) (string, int64) {
	tags := map[string]bool{} // those that have sums of their own
	return func(r Cost) (string, int64) {
		if r.Type == "" || r.Currency == "" || r.Amount == "" {
			return "", 0 // an invalid row
		}
		k := Key{Day: r.day(day), Type: r.Type, Currency: r.Currency}
		if !strings.Contains(r.Tag, r.CostID) && (tags[r.Tag] || len(tags) < mostTags) {
			tags[r.Tag] = true
			k.Tag = r.Tag
		}
		return k.String(), units(r.Amount)
	}
}
