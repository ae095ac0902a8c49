package report

import (
	"strings"
	"time"
)

// writtenDates are the forms of the dates of these dimensions under format_dates=true. Years and
// quarters keep their form.
var writtenDates = map[string]struct{ iso, written string }{
	"hour":  {"2006-01-02T15:04:05", "Jan 2, 2006 15:04"},
	"day":   {"2006-01-02", "Jan 2, 2006"},
	"week":  {"2006-01-02", "Jan 2, 2006"}, // each of its two days
	"month": {"2006-01", "January 2006"},
}

// labelWriter returns the function that writes the values of the i-th dimension as the answer shows
// them: dates under format_dates=true, missing values, and country codes. It is nil when they stay
// as they are.
func (q *request) labelWriter(i int) func(string) string {
	d := q.Dimensions[i]
	switch form, dated := writtenDates[d.Slug]; {
	case d.Time != nil && q.written && dated:
		return func(label string) string {
			days := strings.Split(label, " - ")
			for n, day := range days {
				if at, err := time.Parse(form.iso, day); err == nil {
					days[n] = at.Format(form.written)
				}
			}
			return strings.Join(days, " - ")
		}
	case d.Time == nil && (q.blankMissing || q.lowerCountry && d.Slug == "country_code"):
		return func(value string) string {
			if q.blankMissing && (value == "unknown" || value == "missing") {
				return ""
			}
			if d.Slug == "country_code" && q.lowerCountry {
				return strings.ToLower(value)
			}
			return value
		}
	}
	return nil
}
