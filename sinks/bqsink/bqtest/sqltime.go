package bqtest

import (
	"database/sql/driver"
	"fmt"
	"strings"
	"time"
)

var spans = map[string]time.Duration{
	"MICROSECOND": time.Microsecond, "MILLISECOND": time.Millisecond, "SECOND": time.Second, "MINUTE": time.Minute, "HOUR": time.Hour, "DAY": 24 * time.Hour,
}

// truncated is the beginning of the part that an instant is in. WEEK begins on Sunday, ISOWEEK and WEEK(MONDAY) on Monday.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/date_functions#date_trunc
func truncated(at time.Time, part string) (time.Time, error) {
	y, m, d := at.Date()
	weekday, _, _ := strings.Cut(strings.TrimPrefix(part, "WEEK("), ")")
	switch part {
	case "YEAR":
		return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC), nil
	case "QUARTER":
		return time.Date(y, (m-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC), nil
	case "MONTH":
		return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC), nil
	case "WEEK":
		weekday = "SUNDAY"
	case "ISOWEEK":
		weekday = "MONDAY"
	default:
		if span, ok := spans[part]; ok {
			return at.Truncate(span), nil // a day begins where Truncate, from the year 1 on, begins it
		}
	}
	for first := range time.Weekday(7) {
		if strings.EqualFold(first.String(), weekday) {
			return time.Date(y, m, d-(int(at.Weekday())-int(first)+7)%7, 0, 0, 0, 0, time.UTC), nil
		}
	}
	return at, fmt.Errorf("the part %s isn't known", part)
}

// timeDiff(a, b, part): of a TIMESTAMP the whole parts between, else the borders of parts between.
func timeDiff(a []driver.Value) (driver.Value, error) {
	part := a[2].(string)
	x, err := instant(a[0])
	if err != nil {
		return nil, err
	}
	y, err := instant(a[1])
	if err != nil {
		return nil, err
	}
	if _, isTimestamp := a[0].(int64); isTimestamp {
		span, ok := spans[part]
		if !ok {
			return nil, fmt.Errorf("TIMESTAMP_DIFF has no part %s", part)
		}
		return int64(x.Sub(y) / span), nil
	}
	if x, err = truncated(x, part); err != nil {
		return nil, err
	}
	if y, err = truncated(y, part); err != nil {
		return nil, err
	}
	months := int64(x.Year()-y.Year())*12 + int64(x.Month()-y.Month())
	switch part {
	case "YEAR":
		return months / 12, nil
	case "QUARTER":
		return months / 3, nil
	case "MONTH":
		return months, nil
	}
	span, ok := spans[part]
	if !ok {
		span = 7 * 24 * time.Hour
	}
	return int64(x.Sub(y) / span), nil
}

// timeTrunc(a, part).
func timeTrunc(a []driver.Value) (driver.Value, error) {
	at, err := instant(a[0])
	if err != nil {
		return nil, err
	}
	at, err = truncated(at, a[1].(string))
	return sameKind(a[0], at), err
}

// timeShift(a, n, part). A day that the month hasn't becomes its last one.
func timeShift(a []driver.Value) (driver.Value, error) {
	at, err := instant(a[0])
	if err != nil {
		return nil, err
	}
	n, part := a[1].(int64), a[2].(string)
	months := map[string]int64{"MONTH": 1, "QUARTER": 3, "YEAR": 12}[part]
	switch {
	case months > 0:
		day := at.Day()
		first := at.AddDate(0, int(n*months), 1-day)
		last := first.AddDate(0, 1, -1).Day()
		at = first.AddDate(0, 0, min(day, last)-1)
	case part == "WEEK":
		at = at.AddDate(0, 0, int(7*n))
	case spans[part] > 0:
		at = at.Add(time.Duration(n) * spans[part])
	default:
		return nil, fmt.Errorf("the part %s isn't known", part)
	}
	return sameKind(a[0], at), nil
}

// timeExtract(a, part).
func timeExtract(a []driver.Value) (driver.Value, error) {
	at, err := instant(a[0])
	if err != nil {
		return nil, err
	}
	_, week := at.ISOWeek()
	part := a[1].(string)
	n, ok := map[string]int{
		"YEAR": at.Year(), "QUARTER": int(at.Month()+2) / 3, "MONTH": int(at.Month()), "ISOWEEK": week, "DAY": at.Day(),
		"DAYOFWEEK": int(at.Weekday()) + 1, "DAYOFYEAR": at.YearDay(), "HOUR": at.Hour(), "MINUTE": at.Minute(), "SECOND": at.Second(),
	}[part]
	if !ok {
		return nil, fmt.Errorf("EXTRACT has no part %s here", part)
	}
	return int64(n), nil
}
