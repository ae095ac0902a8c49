package table

import (
	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/internal/catalog"
)

const microsPerDay = 24 * 60 * 60 * 1_000_000

// parseTime reads a cell of a time type. It returns a date as the number of days from 1970-01-01 to
// the first day of its period, and an hour as the number of microseconds since 1970-01-01 00:00:00,
// both in the time zone of the report.
func parseTime(t catalog.Type, text []byte) (int64, parseResult) {
	if len(text) == 0 {
		return 0, blank
	}
	v, ok := int64(0), false
	switch t {
	case catalog.Day:
		v, ok = parseDay(text)
	case catalog.Week:
		v, ok = parseWeek(text)
	case catalog.Month:
		if len(text) == 7 && text[4] == '-' {
			v, ok = daysOf(digits(text[:4]), digits(text[5:]), 1)
		}
	case catalog.Quarter:
		if len(text) == 7 && text[0] == 'Q' && text[1] >= '1' && text[1] <= '4' && text[2] == ' ' {
			v, ok = daysOf(digits(text[3:]), int(text[1]-'1')*3+1, 1)
		}
	case catalog.Year:
		if len(text) == 4 {
			v, ok = daysOf(digits(text), 1, 1)
		}
	case catalog.Hour:
		v, ok = parseHour(text)
	}
	if !ok {
		return 0, notTime
	}
	return v, fits
}

// parseDay reads a day, which may be written as its first moment.
func parseDay(text []byte) (int64, bool) {
	if len(text) == 19 && (string(text[10:]) == "T00:00:00" || string(text[10:]) == " 00:00:00") {
		text = text[:10]
	}
	if len(text) != 10 || text[4] != '-' || text[7] != '-' {
		return 0, false
	}
	return daysOf(digits(text[:4]), digits(text[5:7]), digits(text[8:]))
}

// parseWeek reads the first and the last day of a week, and returns the first.
func parseWeek(text []byte) (int64, bool) {
	if len(text) != 23 || string(text[10:13]) != " - " {
		return 0, false
	}
	first, ok := parseDay(text[:10])
	last, ok2 := parseDay(text[13:])
	return first, ok && ok2 && last-first == 6
}

// parseHour reads a date and a time of day.
func parseHour(text []byte) (int64, bool) {
	if len(text) != 19 || text[10] != 'T' || text[13] != ':' || text[16] != ':' {
		return 0, false
	}
	days, ok := parseDay(text[:10])
	h, m, s := digits(text[11:13]), digits(text[14:16]), digits(text[17:])
	if !ok || h < 0 || h > 23 || m < 0 || m > 59 || s < 0 || s > 59 {
		return 0, false
	}
	return days*microsPerDay + int64((h*60+m)*60+s)*1_000_000, true
}

// digits returns the number in a text of digits only, and -1 for any other text.
func digits(text []byte) int {
	n := 0
	for _, c := range text {
		if c-'0' > 9 {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// daysOf returns the number of days from 1970-01-01 to a date of the Gregorian calendar, from year
// 1 on, and false when there is no such date. It counts years from March on, so that a leap day is
// the last day of its year.
func daysOf(year, month, day int) (int64, bool) {
	if year < 1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, false
	}
	y, m := year, month-3
	if m < 0 {
		y, m = year-1, month+9
	}
	return int64(y*365 + y/4 - y/100 + y/400 + (153*m+2)/5 + day - 1 - 719468), true
}

// daysIn returns the number of days of a month.
func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// daysOfDate does what daysOf does, for a civil.Date.
func daysOfDate(d civil.Date) (int64, bool) { return daysOf(d.Year, int(d.Month), d.Day) }

// dayOf returns the date of a value of a time type, in days since 1970-01-01.
func dayOf(t catalog.Type, v int64) int64 {
	if t != catalog.Hour {
		return v
	}
	day := v / microsPerDay
	if v%microsPerDay < 0 {
		day--
	}
	return day
}
