package human

import (
	"fmt"

	"github.com/reportferry/reportferry/jobs/ledger"
)

// Lacking says in about half a line how many partitions lack which columns.
func Lacking(l ledger.Lacking) string {
	const usual = 45
	text := Plural(l.Partitions, "partition") + " lack"
	if l.Partitions == 1 {
		text += "s"
	}
	for i, name := range l.Columns {
		switch {
		case i == 0:
			text += " " + name
		case len(text)+len(name) > usual:
			return text + fmt.Sprintf(" and %d more", len(l.Columns)-i)
		default:
			text += ", " + name
		}
	}
	return text
}

// Mending says what gives the partitions of a job the columns that they lack.
func Mending(job string, l ledger.Lacking) string {
	if l.Later {
		return "to fetch: backfill " + job + " --missing-columns"
	}
	return "the next run fetches them"
}
