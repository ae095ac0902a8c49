package catalog

import (
	"fmt"
	"strings"
)

// Type is the type that a column of a report has in a table. It is fixed before the first byte of
// an answer is read.
type Type uint8

// The types. Day, Week, Month, Quarter and Year differ in how the service writes them; all are
// stored as the DATE of their first day.
const (
	String  Type = iota // text; a blank is kept as ''
	Day                 // 2026-01-31
	Week                // 2026-01-25 - 2026-01-31
	Month               // 2026-01
	Quarter             // Q1 2026
	Year                // 2026
	Hour                // 2026-01-31T13:00:00, stored as a timestamp without a zone
	Int64               // a count
	Decimal             // money: DECIMAL(18,6)
	Double              // a ratio or any other number
	Instant             // a moment, stored as a timestamp in UTC; no column of the service's has it
)

// typeNames has the names of the types, in their order.
var typeNames = [...]string{"string", "day", "week", "month", "quarter", "year", "hour", "int64", "decimal", "double",
	"instant"}

// String returns the type's name as config files and the ledger spell it.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// MarshalText spells the type by its name.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a type's name.
func (t *Type) UnmarshalText(b []byte) error {
	for i, name := range typeNames {
		if name == string(b) {
			*t = Type(i)
			return nil
		}
	}
	return fmt.Errorf("unknown type %q; want one of %v", b, typeNames)
}

// IsDate tells whether the type is stored as a DATE.
func (t Type) IsDate() bool { return t >= Day && t <= Year }

// IsTime tells whether the type places a row in time: a date or an hour.
func (t Type) IsTime() bool { return t >= Day && t <= Hour }

// ForFormatting returns the type of a metric that only the events endpoint describes, from the
// formatting field of its record (values: the service's OpenAPI file of June 2024). It returns
// false for an unknown formatting.
func ForFormatting(formatting string) (Type, bool) {
	switch strings.ReplaceAll(Fold(formatting), " ", "_") {
	case "integer":
		return Int64, true
	case "money", "money_precise":
		return Decimal, true
	case "percent", "decimal", "timeperiod", "percent_change":
		return Double, true
	}
	return String, false
}
