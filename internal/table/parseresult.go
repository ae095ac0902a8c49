package table

import "github.com/reportferry/reportferry/internal/catalog"

// parseResult is the result of parsing a cell. It takes the place of an error so that the loop over
// a column allocates nothing; the message is made once, for the cell that stops the answer.
type parseResult uint8

const (
	fits    parseResult = iota
	rounded             // it fits once it is rounded to fewer decimals
	blank               // it has no value, and needs one
	notNumber
	notWhole
	notInt64
	notDecimal
	notDouble
	notTime
	notUTF8
	outside  // a time that belongs to no expected partition
	mistyped // a typed cell of another type than its column
)

// reason returns the rest of a sentence that begins with the cell's value.
func (v parseResult) reason(t catalog.Type) string {
	switch v {
	case blank:
		return "is blank, and a column of type " + t.String() + " needs a value"
	case notNumber:
		return "is not a plain number (no spaces, thousands separators, hex or Inf)"
	case notWhole:
		return "is not a whole number; declare the column as double or decimal under `types:`"
	case notInt64:
		return "is beyond the 64 bits of an int64"
	case notDecimal:
		return "has more than twelve digits before the decimal point; declare the column as double or string under " +
			"`types:`"
	case notDouble:
		return "is beyond the range of a double"
	case notTime:
		return "is not a valid " + t.String() + " like " + timeExamples[t]
	case notUTF8:
		return "is not valid UTF-8"
	case outside:
		if t == catalog.Week {
			return "lies outside the dates that were asked for; a week of a table begins on a Sunday: where the " +
				"service's doesn't, ask by day"
		}
		return "lies outside the dates that were asked for"
	}
	return "doesn't fit type " + t.String()
}

// timeExamples has a cell of each time type as the service writes it.
var timeExamples = map[catalog.Type]string{
	catalog.Day: "2026-01-31", catalog.Week: "2026-01-25 - 2026-01-31 (seven days)", catalog.Month: "2026-01",
	catalog.Quarter: "Q1 2026", catalog.Year: "2026", catalog.Hour: "2026-01-31T13:00:00",
}
