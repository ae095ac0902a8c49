package emulator

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const daySeconds = 24 * 60 * 60

// dayOf is the number of days from 1970-01-01 to t's UTC date.
func dayOf(t time.Time) int { return floorDiv(int(t.Unix()), daySeconds) }

func dayTime(day int) time.Time { return time.Unix(int64(day)*daySeconds, 0).UTC() }

func floorDiv(a, b int) int {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// period is an inclusive range of days since 1970-01-01, in the report's zone. It is empty when to < from.
type period struct{ from, to int }

func (p period) days() int { return max(p.to-p.from+1, 0) }

// parsePeriod reads date_period in its absolute, relative and logical forms; today is the report zone's.
func parsePeriod(s string, today int) (period, error) {
	t := dayTime(today)
	month := today - t.Day() + 1 // first day of this month
	week := today - int(t.Weekday())
	switch s {
	case "today":
		return period{today, today}, nil
	case "yesterday":
		return period{today - 1, today - 1}, nil
	case "this_week":
		return period{week, today}, nil
	case "last_week":
		return period{week - 7, week - 1}, nil
	case "this_month":
		return period{month, today}, nil
	case "last_month":
		return period{month - dayTime(month-1).Day(), month - 1}, nil
	case "this_month_until_yesterday":
		return period{month, today - 1}, nil
	}
	a, b, ok := strings.Cut(s, ":")
	if !ok {
		return period{}, fmt.Errorf("date_period %q is neither <from>:<to> nor a known word", s)
	}
	from, err := parseDay(a, today)
	if err != nil {
		return period{}, err
	}
	to, err := parseDay(b, today)
	if err != nil {
		return period{}, err
	}
	if to < from {
		return period{}, fmt.Errorf("date_period %q ends before it begins", s)
	}
	return period{from, to}, nil
}

// parseDay reads YYYY-MM-DD or -Nd.
func parseDay(s string, today int) (int, error) {
	if n, ok := strings.CutPrefix(s, "-"); ok {
		if n, ok = strings.CutSuffix(n, "d"); ok {
			if days, err := strconv.Atoi(n); err == nil && days >= 0 && days < 100_000 {
				return today - days, nil
			}
		}
		return 0, fmt.Errorf("date_period: %q is not of the form -10d", s)
	}
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, fmt.Errorf("date_period: %q is not a date of the form YYYY-MM-DD", s)
	}
	return dayOf(t), nil
}
