package spend

import "time"

// Fields are the names of a record's fields.
func Fields() []string { return names[:] }

// Fits gives the reason why a cell can't be the value of a field; empty: it can. It is what a row would be refused for, but for
// the age of the record and what the job says of its currencies.
func Fits(name, cell string) string {
	v := values{"made-up-cost-id", types[0], "usd", "1", "tag", ""}
	c := newChecker(false, nil, time.UTC)
	for f := range names {
		if names[f] == name {
			v[f] = cell
			c.timed = field(f) == engagedAt
		}
	}
	if _, refused := c.record(&v); refused != nil {
		return refused.Reason
	}
	return ""
}
