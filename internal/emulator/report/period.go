package report

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/wire"
	"github.com/reportferry/reportferry/internal/lazy"
)

// ParsePeriod reads date_period in its absolute, relative and logical forms; today is the report
// zone's.
func ParsePeriod(s string, today int) (metrics.Period, error) {
	t := facts.DayTime(today)
	month := today - t.Day() + 1 // first day of this month
	week := today - int(t.Weekday())
	switch s {
	case "today":
		return periodOf(today, today), nil
	case "yesterday":
		return periodOf(today-1, today-1), nil
	case "this_week":
		return periodOf(week, today), nil
	case "last_week":
		return periodOf(week-7, week-1), nil
	case "this_month":
		return periodOf(month, today), nil
	case "last_month":
		return periodOf(month-facts.DayTime(month-1).Day(), month-1), nil
	case "this_month_until_yesterday":
		return periodOf(month, today-1), nil
	}
	a, b, ok := strings.Cut(s, ":")
	if !ok {
		return metrics.Period{}, fmt.Errorf("date_period %q is neither <from>:<to> nor a known word", s)
	}
	from, err := parseDay(a, today)
	if err != nil {
		return metrics.Period{}, err
	}
	to, err := parseDay(b, today)
	if err != nil {
		return metrics.Period{}, err
	}
	if to < from {
		return metrics.Period{}, fmt.Errorf("date_period %q ends before it begins", s)
	}
	return periodOf(from, to), nil
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
	return facts.DayOf(t), nil
}

// readPeriods reads the zone and everything that is counted from now in it.
func (s *Service) readPeriods(q *request, v url.Values, now time.Time) (bad *wire.Error) {
	if q.Zone, bad = readZone(v, s.opts.Readings.Is(reading.ZoneNames, "taken")); bad != nil {
		return bad
	}
	_, east := now.In(q.Zone).Zone() // not the current hour's beginning, which in India may be yesterday
	q.ZoneToday = facts.FloorDiv(int(now.Unix())+east, facts.DaySeconds)
	if v.Get("date_period") == "" {
		return wire.BadRequest("date_period is required")
	}
	var err error
	if q.Period, err = ParsePeriod(v.Get("date_period"), q.ZoneToday); err != nil {
		return wire.BadRequest("%v", err)
	}
	if q.Hours, bad = readHours(v.Get("hour__between"), q.ThisHour); bad != nil {
		return bad
	}
	return q.readComparison(v.Get("period_over_period"))
}

// hoursForm matches a value of hour__between.
var hoursForm = lazy.Regexp(`^-(\d{1,6})h:-(\d{1,6})h$`)

// readHours reads hour__between, -10h:-0h: hours before the current one, both ends inclusive.
func readHours(s string, thisHour int) (*metrics.Hours, *wire.Error) {
	if s == "" {
		return nil, nil
	}
	m := hoursForm().FindStringSubmatch(s)
	if m == nil {
		return nil, wire.BadRequest("hour__between: %q is not of the form -10h:-0h", s)
	}
	first, _ := strconv.Atoi(m[1]) // six digits at most
	last, _ := strconv.Atoi(m[2])
	if first < last {
		return nil, wire.BadRequest("hour__between: %q ends before it begins", s)
	}
	return &metrics.Hours{First: thisHour - first, Last: thisHour - last}, nil
}

// readComparison reads period_over_period: a named step back, or the first day of a period as long
// as the report's.
func (q *request) readComparison(s string) *wire.Error {
	if s == "" {
		return nil
	}
	q.Compared = true
	from := facts.DayTime(q.Period.From)
	switch strings.ToLower(s) {
	case "previous_day":
		q.Earlier = 1
	case "previous_week":
		q.Earlier = 7
	case "previous_month":
		q.Earlier = q.Period.From - monthsBefore(from, 1)
	case "previous_year":
		q.Earlier = q.Period.From - monthsBefore(from, 12)
	case "previous_period":
		q.Earlier = q.Period.Days()
	default:
		first, err := parseDay(s, q.ZoneToday)
		if err != nil {
			return wire.BadRequest("period_over_period: %q is neither previous_day, previous_week, previous_month, "+
				"previous_year, previous_period, "+
				"nor a first day of the form -10d or YYYY-MM-DD", s)
		}
		q.Earlier = q.Period.From - first
	}
	return nil
}

// monthsBefore returns the same day of the month n months before t, or that month's last day.
func monthsBefore(t time.Time, n int) int {
	first := time.Date(t.Year(), t.Month()-time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return facts.DayOf(first) + min(t.Day(), last) - 1
}

// periodOf returns the period from one day to another, both included.
func periodOf(from, to int) metrics.Period { return metrics.Period{From: from, To: to} }
