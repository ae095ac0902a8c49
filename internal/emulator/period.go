package emulator

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

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

// readPeriods reads the zone and everything that is counted from now in it.
func (q *request) readPeriods(v url.Values, now time.Time) (bad *serviceError) {
	if q.zone, bad = readZone(v); bad != nil {
		return bad
	}
	_, east := now.In(q.zone).Zone() // not the current hour's beginning, which in India may be yesterday
	q.zoneToday = floorDiv(int(now.Unix())+east, daySeconds)
	if v.Get("date_period") == "" {
		return badRequest("date_period is required")
	}
	var err error
	if q.period, err = parsePeriod(v.Get("date_period"), q.zoneToday); err != nil {
		return badRequest("%v", err)
	}
	if q.hours, bad = readHours(v.Get("hour__between"), q.thisHour); bad != nil {
		return bad
	}
	return q.readComparison(v.Get("period_over_period"))
}

var hoursForm = regexp.MustCompile(`^-(\d{1,6})h:-(\d{1,6})h$`)

// readHours reads hour__between, -10h:-0h: hours before the current one, both ends inclusive.
func readHours(s string, thisHour int) (*hourRange, *serviceError) {
	if s == "" {
		return nil, nil
	}
	m := hoursForm.FindStringSubmatch(s)
	if m == nil {
		return nil, badRequest("hour__between: %q is not of the form -10h:-0h", s)
	}
	first, _ := strconv.Atoi(m[1]) // six digits at most
	last, _ := strconv.Atoi(m[2])
	if first < last {
		return nil, badRequest("hour__between: %q ends before it begins", s)
	}
	return &hourRange{thisHour - first, thisHour - last}, nil
}

// readComparison reads period_over_period: a named step back, or the first day of a period as long as the report's.
func (q *request) readComparison(s string) *serviceError {
	if s == "" {
		return nil
	}
	q.compared = true
	from := dayTime(q.period.from)
	switch strings.ToLower(s) {
	case "previous_day":
		q.earlier = 1
	case "previous_week":
		q.earlier = 7
	case "previous_month":
		q.earlier = q.period.from - monthsBefore(from, 1)
	case "previous_year":
		q.earlier = q.period.from - monthsBefore(from, 12)
	case "previous_period":
		q.earlier = q.period.days()
	default:
		first, err := parseDay(s, q.zoneToday)
		if err != nil {
			return badRequest("period_over_period: %q is neither previous_day, previous_week, previous_month, previous_year, previous_period, "+
				"nor a first day of the form -10d or YYYY-MM-DD", s)
		}
		q.earlier = q.period.from - first
	}
	return nil
}

// monthsBefore is the same day of the month n months before t, or that month's last day.
func monthsBefore(t time.Time, n int) int {
	first := time.Date(t.Year(), t.Month()-time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return dayOf(first) + min(t.Day(), last) - 1
}
