package spend

import (
	"strconv"
	"strings"
	"time"
)

// layouts has the spellings of a time that a file may use, each without and with a zone. Go reads
// fractions of seconds without a layout for them.
var layouts = [2][2]string{
	{"2006-01-02T15:04:05", "2006-01-02T15:04:05Z07:00"},
	{"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00"},
}

// parseEngaged reads the time of an engagement. It accepts
//   - RFC 3339, also with a space for the T
//   - the same with " UTC", as BigQuery exports it, or without a zone, which is then zone
//   - seconds or milliseconds since 1970.
func parseEngaged(s string, zone *time.Location) (time.Time, bool) {
	if allDigits(s) {
		n, err := strconv.ParseInt(s, 10, 64)
		switch {
		case err != nil:
		case len(s) == 10:
			return time.Unix(n, 0), true
		case len(s) == 13:
			return time.UnixMilli(n), true
		}
		return time.Time{}, false
	}
	const date = len("2006-01-02")
	if len(s) <= date {
		return time.Time{}, false
	}
	spelled := layouts[0]
	if s[date] == ' ' {
		spelled = layouts[1]
	}
	if plain, ok := strings.CutSuffix(s, " UTC"); ok {
		s = plain + "Z"
	}
	if strings.ContainsAny(s[date:], "Z+-") {
		t, err := time.Parse(spelled[1], s)
		return t, err == nil
	}
	t, err := time.ParseInLocation(spelled[0], s, zone)
	return t, err == nil
}
