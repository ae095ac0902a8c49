package pgsink

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/sinks"
)

// A place is one partition of a table, or a whole table that has no periods.
type place struct {
	table string
	first civil.Date
	end   civil.Date // the first day after the partition; the zero date when first is sinks.Whole
}

// locate returns the place of a part, after it has checked that the part fits a table.
func locate(p sinks.Part) (at place, err error) {
	if p.Schema == nil {
		return at, errors.New("the part has no schema, which a table needs: this kind of job writes to buckets only")
	}
	at = place{table: tableName(p.Table), first: p.Partition}
	switch p.Schema.Period {
	case "day":
		at.end = at.first.AddDays(1)
	case "week":
		at.end = at.first.AddDays(7)
	case "month":
		at.end = at.first.AddMonths(1)
	case "quarter":
		at.end = at.first.AddMonths(3)
	case "year":
		at.end = at.first.AddYears(1)
	case "whole":
	default:
		return at, fmt.Errorf("the table's period is %q; want day, week, month, quarter, year or whole",
			p.Schema.Period)
	}
	if !at.first.IsValid() || (p.Schema.Period == "whole") != (at.first == sinks.Whole) {
		return at, fmt.Errorf("%s isn't the first day of a partition in a table by %s", at.first, p.Schema.Period)
	}
	return at, checkSchema(at, p.Schema)
}

// tableName returns the name in Postgres of a job's table, or of a table that describes it. The
// latter name is longer, and is cut where Postgres would cut it; a digest keeps two such names
// distinct.
func tableName(table string) string {
	flat := sinks.Flat(table)
	if flat == table || len(flat) <= LongestName {
		return flat
	}
	digest := fmt.Sprintf("_%x", sha256.Sum256([]byte(flat)))[:9]
	return flat[:LongestName-len(digest)] + digest
}

// child returns the name of the partition as a table of its own. A job's table can't have a $ in
// its name, so that no job's table has the same name.
func (at place) child() string {
	return fmt.Sprintf("%s$%04d%02d%02d", at.table, at.first.Year, at.first.Month, at.first.Day)
}

// key returns the name of the partition in receipts.
func (at place) key() string {
	if at.first == sinks.Whole {
		return at.table
	}
	return at.child()
}

// condition returns the SQL condition for rows of the partition.
func (at place) condition(on string) string {
	if at.first == sinks.Whole {
		return "true"
	}
	return fmt.Sprintf("%s >= DATE '%s' AND %s < DATE '%s'", quote(on), at.first, quote(on), at.end)
}

// lockID returns the number of the advisory lock on something in the schema, which the words name.
// Such numbers are shared with all other users of the database, so a hash is used.
func (s *Sink) lockID(of ...string) int64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "reportferry %q %q", s.schema, of))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}
