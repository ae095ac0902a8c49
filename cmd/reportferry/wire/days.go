package wire

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/cmd/reportferry/text"
	"github.com/reportferry/reportferry/config"
)

// DayWords describes the values of a flag that takes a day, for help and messages.
const DayWords = "a date such as 2026-01-31, days before today such as -30d, yesterday or today"

// Today returns the current day in a job's zone.
func Today(c config.Job) civil.Date { return civil.DateOf(time.Now().In(Zone(c))) }

// Zone returns the zone in which a job's days begin and end: that of its report's days, or else
// that of its schedule, which is UTC unless the config says otherwise.
func Zone(c config.Job) *time.Location {
	zone, err := time.LoadLocation(c.Zone)
	if c.Report != nil {
		zone, err = reportZone(c)
	}
	if err != nil {
		return time.UTC // making the job reports the zone
	}
	return zone
}

// ParseDay reads a date, days before today such as -30d, yesterday or today.
func ParseDay(text string, today civil.Date) (civil.Date, error) {
	switch text {
	case "today":
		return today, nil
	case "yesterday":
		return today.AddDays(-1), nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok && strings.HasPrefix(days, "-") {
		if n, err := strconv.Atoi(days); err == nil && n > -100_000 {
			return today.AddDays(n), nil
		}
	}
	day, err := civil.ParseDate(text)
	if err != nil {
		return day, errors.New("want " + DayWords)
	}
	return day, nil
}

// ParseRange reads the values of --from and --to, counted from today. The two days must be in
// order, and the first must not be in the future. An empty to is yesterday, the last day that is
// over.
func ParseRange(from, to string, today civil.Date) (first, last civil.Date, err error) {
	if first, err = ParseDay(from, today); err != nil {
		return first, last, fmt.Errorf("--from %q: %w", from, err)
	}
	if last, err = ParseDay(cmp.Or(to, "yesterday"), today); err != nil {
		return first, last, fmt.Errorf("--to %q: %w", to, err)
	}
	switch {
	case first.After(today.AddDays(1)): // it is tomorrow already somewhere
		return first, last, fmt.Errorf("--from %s lies in the future; today is %s", dayText(from, first), today)
	case last.Before(first) && to == "":
		return first, last, fmt.Errorf("--from %s lies after yesterday, which is the last day unless --to says "+
			"otherwise: add --to today", dayText(from, first))
	case last.Before(first):
		return first, last, fmt.Errorf("--to %s lies before --from %s", dayText(to, last), dayText(from, first))
	}
	return first, last, nil
}

// dayText returns a day as it was given, and its date as well when that is another text.
func dayText(text string, day civil.Date) string {
	if text == day.String() {
		return text
	}
	return fmt.Sprintf("%s (%s)", text, day)
}

// Range reads --from and --to of a command about the named job. Words such as today and -30d are
// counted in the job's zone.
func (e *Engine) Range(name, from, to string) (first, last civil.Date, err error) {
	chosen, err := e.Choose([]string{name})
	if err != nil {
		return first, last, err
	}
	if first, last, err = ParseRange(from, to, Today(chosen[0])); err != nil {
		return first, last, text.UsageError(err)
	}
	return first, last, nil
}
