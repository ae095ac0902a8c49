package emulator

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// request is a report's request, read and checked: a query, and what is said of its answer's form.
type request struct {
	query
	readable bool // the CSV is headed by readable names
}

// parse reads the parameters of a report. Unknown ones are ignored, as at the service.
func (s *reportService) parse(v url.Values, now time.Time) (*request, *serviceError) {
	q := &request{}
	q.query = query{firstDay: s.world.firstDay, today: dayOf(now), thisHour: floorDiv(int(now.Unix()), 3600)}
	steps := []func(url.Values) *serviceError{
		q.readDimensions,
		func(v url.Values) *serviceError { return s.readMetrics(q, v) },
		q.readModes,
		q.readFormat,
		func(v url.Values) *serviceError { return q.readPeriods(v, now) },
		func(v url.Values) *serviceError { return s.readFilters(q, v) },
		q.readSort,
	}
	for _, step := range steps {
		if err := step(v); err != nil {
			return nil, err
		}
	}
	return q, nil
}

func (q *request) readDimensions(v url.Values) *serviceError {
	names := splitList(v.Get("dimensions"))
	if len(names) == 0 {
		return badRequest("dimensions: at least one is required")
	}
	for _, name := range names {
		d, err := findDimension(name)
		if err != nil {
			return err
		}
		q.dimensions = append(q.dimensions, d)
	}
	return nil
}

func (s *reportService) readMetrics(q *request, v url.Values) *serviceError {
	names := splitList(v.Get("metrics"))
	if len(names) == 0 {
		return badRequest("metrics: at least one is required")
	}
	for _, name := range names {
		c, err := s.glossary.find(name)
		if err != nil {
			return err
		}
		q.metrics = append(q.metrics, c)
	}
	return nil
}

// readSort reads sort, and index, whose dimensions break its ties before the others do.
func (q *request) readSort(v url.Values) *serviceError {
	for _, name := range splitList(v.Get("sort")) {
		slug, descending := strings.CutPrefix(name, "-")
		n := slices.IndexFunc(q.dimensions, func(d dimension) bool { return d.slug == slug })
		if n < 0 {
			n = slices.IndexFunc(q.metrics, func(c column) bool { return c.slug == slug })
			if n < 0 {
				return badRequest("sort: %q is not among the dimensions and metrics of this report", slug)
			}
			n += len(q.dimensions)
		}
		q.sort = append(q.sort, sortKey{n + 1, descending})
	}
	for _, slug := range splitList(v.Get("index")) {
		n := slices.IndexFunc(q.dimensions, func(d dimension) bool { return d.slug == slug })
		if n < 0 {
			return badRequest("index: %q is not among the dimensions of this report", slug)
		}
		q.sort = append(q.sort, sortKey{n + 1, false})
	}
	return nil
}

func (q *request) readFormat(v url.Values) (err *serviceError) {
	if q.readable, err = boolParam(v, "readable_names", false); err != nil {
		return err
	}
	if _, err = boolParam(v, "format_dates", true); err != nil { // both give ISO labels
		return err
	}
	if q.currency, err = findRate(v.Get("currency")); err != nil {
		return err
	}
	if text := v.Get("limit"); text != "" {
		n, bad := strconv.Atoi(text)
		if bad != nil || n < 1 {
			return badRequest("limit: %q is not a number of rows", text)
		}
		q.limit = n
	}
	return nil
}

// splitList splits a comma list, trims its entries and drops empty and repeated ones. A comma inside a value can't be
// written, as at the service.
func splitList(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" && !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	return out
}

func boolParam(v url.Values, name string, preset bool) (bool, *serviceError) {
	switch strings.ToLower(v.Get(name)) {
	case "":
		return preset, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, badRequest("%s: %q is neither true nor false", name, v.Get(name))
}

func findRate(code string) (exchangeRate, *serviceError) {
	if code == "" {
		code = "USD" // of every app
	}
	for _, r := range rates {
		if strings.EqualFold(r.code, code) {
			return r, nil
		}
	}
	return exchangeRate{}, badRequest("currency: %q is not a supported ISO 4217 code", code)
}
