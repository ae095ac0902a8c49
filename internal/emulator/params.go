package emulator

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// parseQuery reads the parameters of csv_report.
func (s *Server) parseQuery(v url.Values, now time.Time) (*query, *serviceError) {
	q := &query{today: dayOf(now)}
	for name := range v {
		if slices.Contains(unbuiltParams, name) && v.Get(name) != "" {
			return nil, notYet("%s", name)
		}
	}
	steps := []func(url.Values) *serviceError{
		checkModes,
		q.readDimensions,
		func(v url.Values) *serviceError { return s.readMetrics(q, v) },
		func(v url.Values) *serviceError { return q.readPeriod(v, now) },
		func(v url.Values) *serviceError { return s.readFilters(q, v) },
		q.readSort,
		q.readFormat,
	}
	for _, step := range steps {
		if err := step(v); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// unbuiltParams are known to the documents, would change the answer, and have no effect here yet.
var unbuiltParams = []string{"timezone_id", "hour__between", "ad_revenue_sources", "index", "period_over_period", "limit",
	"attribution_type", "assisting_attribution_type"}

func (q *query) readDimensions(v url.Values) *serviceError {
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

func (s *Server) readMetrics(q *query, v url.Values) *serviceError {
	names := splitList(v.Get("metrics"))
	if len(names) == 0 {
		return badRequest("metrics: at least one is required")
	}
	for _, name := range names {
		c, err := s.find(name)
		if err != nil {
			return err
		}
		q.metrics = append(q.metrics, c)
	}
	return nil
}

func (q *query) readPeriod(v url.Values, now time.Time) *serviceError {
	minutes, err := parseOffset(v.Get("utc_offset"))
	if err != nil {
		return badRequest("%v", err)
	}
	q.offset = minutes
	if v.Get("date_period") == "" {
		return badRequest("date_period is required")
	}
	q.period, err = parsePeriod(v.Get("date_period"), dayOf(now.Add(time.Duration(minutes)*time.Minute)))
	if err != nil {
		return badRequest("%v", err)
	}
	return nil
}

// parseOffset reads [+-]HH:MM as minutes. A "+" that was sent unescaped arrives as a blank.
func parseOffset(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	t, err := time.Parse("-07:00", strings.Replace(s, " ", "+", 1))
	if err != nil {
		return 0, fmt.Errorf("utc_offset: %q is not of the form +HH:MM", s)
	}
	_, east := t.Zone()
	if east < -14*3600 || east > 14*3600 {
		return 0, fmt.Errorf("utc_offset: %q is farther than 14 hours from UTC", s)
	}
	return east / 60, nil
}

var filterOps = []string{"not_in", "in", "contains", "exclude", "not_starts_with", "starts_with", "not_ends_with", "ends_with",
	"lte", "lt", "gte", "gt", "eq", "ne"}

// readFilters reads os_names and <d>__in. Other filters of known dimensions and metrics aren't built; parameters that
// look like filters of nothing known are refused; plain unknown parameters are ignored, as at the service.
func (s *Server) readFilters(q *query, v url.Values) *serviceError {
	for i := range s.apps {
		q.apps = append(q.apps, i)
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		i := strings.LastIndex(name, "__")
		if i < 0 || !slices.Contains(filterOps, name[i+2:]) || slices.Contains(unbuiltParams, name) {
			continue
		}
		target, op := name[:i], name[i+2:]
		d, bad := findDimension(target)
		if bad != nil && !slices.Contains(unbuiltDimensions, target) {
			if _, noMetric := s.find(target); noMetric != nil {
				return badRequest("%s: %q is neither a dimension nor a metric", name, target)
			}
		}
		values := splitList(v.Get(name))
		switch {
		case v.Get(name) == "":
		case bad != nil || op != "in":
			return notYet("%s", name)
		case len(values) > 0:
			q.filters = append(q.filters, filter{d, values})
			if target == "app_token" {
				q.apps = s.appsOf(values)
			}
		}
	}
	if len(q.apps) == 0 {
		return badRequest("app_token__in: no apps matching %s", v.Get("app_token__in"))
	}
	if names := splitList(v.Get("os_names")); len(names) > 0 {
		for _, n := range names {
			if !slices.Contains(osNames, strings.ToLower(n)) {
				return badRequest("os_names: %q is not an OS name", n)
			}
		}
		d, _ := findDimension("os_name")
		q.filters = append(q.filters, filter{d, names})
	}
	return nil
}

func (s *Server) appsOf(tokens []string) []int {
	var out []int
	for i, a := range s.apps {
		if slices.ContainsFunc(tokens, func(t string) bool { return strings.EqualFold(t, a.Token) }) {
			out = append(out, i)
		}
	}
	return out
}

func (q *query) readSort(v url.Values) *serviceError {
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
	return nil
}

func (q *query) readFormat(v url.Values) (err *serviceError) {
	if q.readable, err = boolParam(v, "readable_names", false); err != nil {
		return err
	}
	if _, err = boolParam(v, "format_dates", true); err != nil { // both give ISO labels
		return err
	}
	if q.currency, err = findRate(v.Get("currency")); err != nil {
		return err
	}
	q.spendMode = strings.ToLower(v.Get("ad_spend_mode"))
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
