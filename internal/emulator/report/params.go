package report

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/wire"
)

// request is a request for a report, read and checked: a query, and the form of its answer.
type request struct {
	metrics.Query
	readable     bool // the CSV is headed by readable names
	written      bool // dates are written as in "Jan 2, 2006", not by ISO 8601
	blankMissing bool // missing values of dimensions are empty
	lowerCountry bool // country codes are in small letters
	evenEmpty    bool // a report without rows is written like any other, and isn't a 204
}

// parse reads the parameters of a report.
func (s *Service) parse(v url.Values, now time.Time) (*request, *wire.Error) {
	q := &request{}
	q.Query = metrics.Query{FirstDay: s.world.FirstDay, Today: facts.DayOf(now),
		ThisHour: facts.FloorDiv(int(now.Unix()), 3600)}
	steps := []func(url.Values) *wire.Error{
		func(v url.Values) *wire.Error { return s.readDimensions(q, v) },
		func(v url.Values) *wire.Error { return s.readMetrics(q, v) },
		q.readModes,
		func(v url.Values) *wire.Error { return s.readFormat(q, v) },
		func(v url.Values) *wire.Error { return s.readPeriods(q, v, now) },
		func(v url.Values) *wire.Error { return s.readFilters(q, v) },
		q.readSort,
	}
	for _, step := range steps {
		if err := step(v); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// readDimensions reads dimensions, at least one.
func (s *Service) readDimensions(q *request, v url.Values) *wire.Error {
	names := splitList(v.Get("dimensions"))
	if len(names) == 0 {
		return wire.BadRequest("dimensions: at least one is required")
	}
	for _, name := range names {
		d, err := s.dimension(name)
		if err != nil {
			return err
		}
		q.Dimensions = append(q.Dimensions, d)
	}
	return nil
}

// dimension finds a dimension by its slug. Weeks begin on the day that the readings choose.
func (s *Service) dimension(slug string) (metrics.Dimension, *wire.Error) {
	d, err := metrics.FindDimension(slug)
	if err == nil && slug == "week" && s.opts.Readings.Is(reading.WeekStart, "monday") {
		d.Time = metrics.MondayWeeks
	}
	return d, err
}

// readMetrics reads metrics, at least one.
func (s *Service) readMetrics(q *request, v url.Values) *wire.Error {
	names := splitList(v.Get("metrics"))
	if len(names) == 0 {
		return wire.BadRequest("metrics: at least one is required")
	}
	for _, name := range names {
		c, err := s.glossary.Find(name)
		if err != nil {
			return err
		}
		q.Metrics = append(q.Metrics, c)
	}
	return nil
}

// readSort reads sort and index. The dimensions of index break the ties of sort before others do.
func (q *request) readSort(v url.Values) *wire.Error {
	for _, name := range splitList(v.Get("sort")) {
		slug, descending := strings.CutPrefix(name, "-")
		slug = metrics.SmallPeriods(slug)
		n := slices.IndexFunc(q.Dimensions, func(d metrics.Dimension) bool { return d.Slug == slug })
		if n < 0 {
			n = slices.IndexFunc(q.Metrics, func(c metrics.Column) bool { return c.Slug == slug })
			if n < 0 {
				return wire.BadRequest("sort: %q is not among the dimensions and metrics of this report", slug)
			}
			n += len(q.Dimensions)
		}
		q.Sort = append(q.Sort, metrics.SortKey{Column: n + 1, Descending: descending})
	}
	for _, slug := range splitList(v.Get("index")) {
		n := slices.IndexFunc(q.Dimensions, func(d metrics.Dimension) bool { return d.Slug == slug })
		if n < 0 {
			return wire.BadRequest("index: %q is not among the dimensions of this report", slug)
		}
		q.Sort = append(q.Sort, metrics.SortKey{Column: n + 1})
	}
	return nil
}

// readFormat reads what decides the answer's form: readable_names, format_dates, currency and
// limit.
func (s *Service) readFormat(q *request, v url.Values) (err *wire.Error) {
	if q.readable, err = boolParam(v, "readable_names", false); err != nil {
		return err
	}
	if q.written, err = boolParam(v, "format_dates", true); err != nil {
		return err
	}
	q.written = q.written && s.opts.Readings.Is(reading.FormatDates, "written")
	q.blankMissing = s.opts.Readings.Is(reading.NoValue, "empty")
	q.lowerCountry = s.opts.Readings.Is(reading.CountryCode, "lower")
	if q.Currency, err = findRate(v.Get("currency")); err != nil {
		return err
	}
	if text := v.Get("limit"); text != "" {
		n, bad := strconv.Atoi(text)
		if bad != nil || n < 1 {
			return wire.BadRequest("limit: %q is not a number of rows", text)
		}
		q.Limit = n
	}
	return nil
}

// splitList splits a comma list, trims its entries and drops empty and repeated ones.
func splitList(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" && !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	return out
}

// boolParam reads true or false in any case; preset is what an absent one means.
func boolParam(v url.Values, name string, preset bool) (bool, *wire.Error) {
	switch strings.ToLower(v.Get(name)) {
	case "":
		return preset, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, wire.BadRequest("%s: %q is neither true nor false", name, v.Get(name))
}

// findRate finds a currency by its code, in any case; USD when there is none.
func findRate(code string) (facts.Rate, *wire.Error) {
	if code == "" {
		code = "USD" // the currency of every app
	}
	for _, r := range facts.Rates {
		if strings.EqualFold(r.Code, code) {
			return r, nil
		}
	}
	return facts.Rate{}, wire.BadRequest("currency: %q is not a supported ISO 4217 code", code)
}
