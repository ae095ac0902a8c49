package spend

import (
	"fmt"
	"strings"
)

// A Key is what accepted spend is summed up by.
type Key struct {
	Day      string // 2026-01-31, in UTC
	Type     string
	Currency string
}

func (k Key) String() string { return k.Day + " " + k.Type + " " + k.Currency }

// ParseKey reads what String writes.
func ParseKey(s string) (Key, error) {
	parts := strings.Split(s, " ")
	if len(parts) != 3 {
		return Key{}, fmt.Errorf("read the sums of spend: %q isn't a day, a type and a currency", s)
	}
	return Key{parts[0], parts[1], parts[2]}, nil
}

// Decimals of the amounts in outbox.Sum.
const Decimals = mostDecimals
