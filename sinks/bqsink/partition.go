package bqsink

import (
	"fmt"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/sinks"
)

// BigQuery's types of time partitioning that periods are kept in.
const (
	byDay   = "DAY"
	byMonth = "MONTH"
	byYear  = "YEAR"
)

// partitioning is the type for a period: the narrowest that never cuts a period in two and never holds two of them. A
// week is stored under its first day and a quarter under its first month, so both have a partition to themselves. It is
// empty for a table without periods.
func partitioning(period string) (string, error) {
	switch period {
	case "day", "week":
		return byDay, nil
	case "month", "quarter":
		return byMonth, nil
	case "year":
		return byYear, nil
	case "whole":
		return "", nil
	}
	return "", fmt.Errorf("the table's period is %q; want day, week, month, quarter, year or whole", period)
}

// A place is one partition of a table.
type place struct {
	table string
	kind  string // byDay, byMonth, byYear, or empty for the whole table
	first civil.Date
}

// locate finds the place of a part, and refuses a part that can't have one.
func locate(p sinks.Part) (place, error) {
	if p.Schema == nil {
		return place{}, fmt.Errorf("the part has no schema, and a table can't be made without: this kind of job writes to buckets only")
	}
	if !tableName.MatchString(p.Table) {
		return place{}, fmt.Errorf("%q is no table of BigQuery: letters, digits and underscores", p.Table)
	}
	kind, err := partitioning(p.Schema.Period)
	if err != nil {
		return place{}, err
	}
	at := place{table: p.Table, kind: kind, first: p.Partition}
	start := at.first
	switch kind {
	case byMonth:
		start.Day = 1
	case byYear:
		start.Month, start.Day = time.January, 1
	}
	if !at.first.IsValid() || start != at.first || (kind == "") != (at.first == sinks.Whole) {
		return place{}, fmt.Errorf("%s is no first day of a partition of a table by %s", at.first, p.Schema.Period)
	}
	return at, nil
}

// decorator names the partition as a load's destination does, and is empty for a whole table
// (https://cloud.google.com/bigquery/docs/managing-partitioned-table-data#write-to-partition).
func (at place) decorator() string {
	switch at.kind {
	case byDay:
		return fmt.Sprintf("%04d%02d%02d", at.first.Year, at.first.Month, at.first.Day)
	case byMonth:
		return fmt.Sprintf("%04d%02d", at.first.Year, at.first.Month)
	case byYear:
		return fmt.Sprintf("%04d", at.first.Year)
	}
	return ""
}

// destination is the table with its decorator.
func (at place) destination() string {
	if at.kind == "" {
		return at.table
	}
	return at.table + "$" + at.decorator()
}

// label names the partition in labels and job IDs, where a name is needed for a whole table too.
func (at place) label() string {
	if at.kind == "" {
		return "whole"
	}
	return at.decorator()
}

// end is the first day after the partition.
func (at place) end() civil.Date {
	switch at.kind {
	case byMonth:
		return at.first.AddMonths(1)
	case byYear:
		return at.first.AddYears(1)
	}
	return at.first.AddDays(1)
}
