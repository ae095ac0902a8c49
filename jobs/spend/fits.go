package spend

import (
	"strings"
	"time"

	"github.com/reportferry/reportferry/jobs/outbox/files"
)

// Fields returns the names of a record's fields.
func Fields() []string { return names[:] }

// Fits returns the reason why a cell, in a file of a format, can't be the value of a field; "" if
// it can. The reasons are those for which a row would be refused, except for the age of the record
// and the currencies that the job allows.
func Fits(name, cell string, format files.Format) string {
	// The cell is checked within a row that is right otherwise.
	v := values{"made-up-cost-id", types[0], "usd", "1", "tag", ""}
	c := newChecker(false, nil, time.UTC)
	for f, field := range mapping(nil, nil, format).Fields {
		if field.Name != name {
			continue
		}
		plain, refused := format.Spell(field, cell)
		if refused != nil {
			return refused.Reason
		}
		v[f] = plain
		c.timed = name == names[engagedAt]
	}
	// A sign beside the amount must be that of the row's currency.
	if sign, _ := files.CutSign(v[costAmount]); sign != "" {
		v[costCurrency] = strings.ToLower(sign)
		if codes := strings.Fields(signs[v[costCurrency]]); len(codes) > 0 {
			v[costCurrency] = codes[0]
		}
	}
	if _, refused := c.record(&v); refused != nil {
		return refused.Reason
	}
	return ""
}

// Currency returns the currency whose sign or code an amount contains. It returns "" if there is
// none, or if the sign may stand for several currencies.
func Currency(amount string, format files.Format) string {
	plain, _ := format.Spell(mapping(nil, nil, format).Fields[costAmount], amount)
	sign, _ := files.CutSign(plain)
	codes := strings.Fields(signs[strings.ToLower(sign)])
	switch _, known := isSign(sign, ""); {
	case len(codes) == 1:
		return strings.ToUpper(codes[0])
	case len(codes) == 0 && known:
		return strings.ToUpper(sign)
	}
	return ""
}
