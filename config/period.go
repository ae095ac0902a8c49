package config

import (
	"slices"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// finest is the order of the date dimensions, and what follows from the first of them that a report has.
var finest = []struct {
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

// wholeTable is the period of a report without a date dimension.
const wholeTable = "whole"

func (d *decoder) checkPeriod(r *Report, at map[string]ast.Node) {
	for _, f := range finest {
		if !slices.Contains(r.Dimensions, f.dimension) {
			continue
		}
		r.Period = f.period
		switch {
		case at["page"] == nil:
			r.Page = f.page
		case r.Page.Unit != 0 && r.Page.Unit != f.page.Unit:
			d.fail(at["page"], "page: %s doesn't fit a report by %s; want a number and %c, such as %s", r.Page, f.dimension, f.page.Unit, f.page)
		}
		return
	}
	r.Period = wholeTable
	if at["page"] != nil {
		d.fail(at["page"], "page: the report has no date dimension, so the table is one partition, which one request asks for")
	}
}

var pagePattern = expr(`^([1-9][0-9]{0,2})([dwmqy])$`)

var page = func() shape[Page] {
	form := matching(pagePattern, "is no length of a window; want 1 to 999 and d, w, m, q or y, such as 7d, 4w or 1m")
	return shape[Page]{func(d *decoder, n ast.Node, key string) (Page, bool) {
		s, ok := form.read(d, n, key)
		if !ok {
			return Page{}, false
		}
		count, _ := strconv.Atoi(s[:len(s)-1]) // three digits at most
		return Page{Count: count, Unit: s[len(s)-1]}, true
	}, form.schema}
}()
