package bqsink

import (
	"fmt"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/sinks"
)

// The types of BigQuery's time partitioning that are used here.
const (
	byDay   = "DAY"
	byMonth = "MONTH"
	byYear  = "YEAR"
)

// partitioning returns the type of partitioning for a period, and "" for a table without periods.
// It is the type in which each period has a partition to itself: a week lies under its first day,
// and a quarter under its first month.
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

// A place is one partition of a table, or a whole table that has no partitions.
type place struct {
	table string
	kind  string // byDay, byMonth, byYear, or empty for the whole table
	first civil.Date
}

// locate returns the place of a part. A part whose date isn't the first day of a partition is an
// error.
func locate(p sinks.Part) (place, error) {
	if p.Schema == nil {
		return place{}, fmt.Errorf("the part has no schema, which a table needs: this kind of job writes to buckets " +
			"only")
	}
	if err := (*Sink)(nil).Fits(p.Table, p.Schema); err != nil {
		return place{}, err
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
		return place{}, fmt.Errorf("%s isn't the first day of a partition in a table by %s", at.first, p.Schema.Period)
	}
	return at, nil
}

// decorator names the partition in a load's destination, behind the $. It is empty for a whole
// table
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

// destination returns the table's name, with the decorator of the partition if it has partitions.
func (at place) destination() string {
	if at.kind == "" {
		return at.table
	}
	return at.table + "$" + at.decorator()
}

// label names the partition in labels and job IDs. A whole table needs a name there too.
func (at place) label() string {
	if at.kind == "" {
		return "whole"
	}
	return at.decorator()
}

// end returns the first day after the partition.
func (at place) end() civil.Date {
	switch at.kind {
	case byMonth:
		return at.first.AddMonths(1)
	case byYear:
		return at.first.AddYears(1)
	}
	return at.first.AddDays(1)
}
