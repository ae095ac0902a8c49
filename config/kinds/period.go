package kinds

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/config/strict"
)

// Start is the first day that a report wants: a date, or so many days before today in the report's
// zone.
type Start struct {
	Date    civil.Date // zero when DaysAgo counts
	DaysAgo int
}

// On returns the first day wanted when today is the given day.
func (s Start) On(today civil.Date) civil.Date {
	if s.Date != (civil.Date{}) {
		return s.Date
	}
	return today.AddDays(-s.DaysAgo)
}

// Page is the length of a window: Count days (unit d), weeks (w), months (m), quarters (q) or years
// (y).
type Page struct {
	Count int
	Unit  byte
}

// String returns the value as the file has it. It is empty when it follows from the dimensions.
func (p Page) String() string {
	if p.Count == 0 {
		return ""
	}
	return fmt.Sprintf("%d%c", p.Count, p.Unit)
}

// earliestStart bounds the start. The service began in 2012; an earlier start is a slip that would
// make the plan thousands of empty windows long.
var earliestStart = civil.Date{Year: 2010, Month: 1, Day: 1}

const wantStart = "a date such as 2026-01-31, or days before today such as -30d"

// start reads a Start: any date of the calendar from earliestStart on, or days before today.
var start = strict.As(
	strict.Matching(strict.Expr(`^(-[0-9]{1,4}d|[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]))$`), wantStart),
	func(d *strict.Decoder, n strict.Node, key, s string) (Start, bool) {
		if days, ok := strings.CutPrefix(s, "-"); ok {
			n, _ := strconv.Atoi(strings.TrimSuffix(days, "d")) // four digits at most
			return Start{DaysAgo: n}, true
		}
		date, err := civil.ParseDate(s)
		switch {
		case err != nil: // such as 30 February
			d.Fail(n, "%s: the calendar has no day %s", key, s)
		case date.Before(earliestStart):
			d.Fail(n, "%s: %s is before %s, the earliest start", key, s, earliestStart)
		default:
			return Start{Date: date}, true
		}
		return Start{}, false
	})

var isoDate = strict.Expr(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)

// until reads one of two words. It refuses a date, because a job's table goes on, and a range of
// the past is fetched by the command backfill.
var until = strict.Shape[string]{
	Read: func(d *strict.Decoder, n strict.Node, key string) (string, bool) {
		if v, _ := d.Scalar(n); isoDate.MatchString(fmt.Sprint(v)) {
			d.Fail(n, "%s: want yesterday or today, got a date: a table goes on; reportferry backfill fetches a "+
				"range of the past", key)
			return "", false
		}
		return untilWord.Read(d, n, key)
	},
	Schema: untilWord.Schema,
}

var untilWord = strict.OneOf("yesterday", "today")

// page checks the form alone. Which unit fits follows from the dimensions: see checkPeriod.
var page = strict.As(
	strict.Matching(strict.Expr(`^([1-9][0-9]{0,2})([dwmqy])$`),
		"a number from 1 to 999 and d, w, m, q or y, such as 7d, 4w or 1m"),
	func(_ *strict.Decoder, _ strict.Node, _, s string) (Page, bool) {
		count, _ := strconv.Atoi(s[:len(s)-1]) // three digits at most
		return Page{Count: count, Unit: s[len(s)-1]}, true
	})

// dateDimensions lists the date dimensions from the finest on. The first of them that a report has
// decides the report's period and its page.
var dateDimensions = []struct {
	dimension, period string
	page              Page // the default, in the only unit that fits
}{
	{"hour", "day", Page{7, 'd'}},
	{"day", "day", Page{7, 'd'}},
	{"week", "week", Page{4, 'w'}},
	{"month", "month", Page{1, 'm'}},
	{"quarter", "quarter", Page{1, 'q'}},
	{"year", "year", Page{1, 'y'}},
}

// wholeTable is the Report.Period of a report without a date dimension.
const wholeTable = "whole"

// checkPeriod works out the period of a partition and the page.
func checkPeriod(d *strict.Decoder, r *Report, at map[string]strict.Node) {
	for _, f := range dateDimensions {
		if !slices.Contains(r.Dimensions, f.dimension) {
			continue
		}
		r.Period = f.period
		switch {
		case at["page"] == nil:
			r.Page = f.page
		case r.Page.Unit != 0 && r.Page.Unit != f.page.Unit:
			d.Fail(at["page"], "page: %s doesn't fit a report by %s; want a number and %c, such as %s", r.Page,
				f.dimension, f.page.Unit, f.page)
		}
		return
	}
	r.Period = wholeTable
	if at["page"] != nil {
		d.Fail(at["page"], "page: the report has no date dimension, so the table is one partition, which one "+
			"request asks for")
	}
}
