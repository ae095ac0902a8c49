package emulator

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// dimensionOps are the filters d__op of dimensions; those of metrics are metricOps.
var dimensionOps = []string{"in", "not_in", "contains", "exclude", "starts_with", "not_starts_with", "ends_with", "not_ends_with"}

// readFilters reads os_names and every <d>__op and <m>__op; all of them must hold. Filters of nothing known are refused;
// other unknown parameters are ignored, as at the service.
func (s *reportService) readFilters(q *request, v url.Values) *serviceError {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		i := strings.LastIndex(name, "__")
		if i < 0 {
			continue
		}
		if err := s.readFilter(q, name[:i], name[i+2:], v.Get(name)); err != nil {
			return err
		}
	}
	if names := splitList(v.Get("os_names")); len(names) > 0 {
		for _, n := range names {
			if !slices.Contains(osNames, strings.ToLower(n)) {
				return badRequest("os_names: %q is not one of %s", n, strings.Join(osNames, ", "))
			}
		}
		d, _ := findDimension("os_name")
		q.filters = append(q.filters, dimensionFilter{d, "in", foldAll(names)})
	}
	q.keepSlices(s.world)
	return nil
}

func (s *reportService) readFilter(q *request, target, op, value string) *serviceError {
	_, ofMetric := metricOps[op]
	ofDimension := slices.Contains(dimensionOps, op)
	if !ofMetric && !ofDimension {
		return nil
	}
	d, noDimension := findDimension(target)
	m, noMetric := s.glossary.find(target)
	switch {
	case noDimension != nil && noMetric != nil:
		return badRequest("%s__%s: %q is neither a dimension nor a metric", target, op, target)
	case ofDimension && noDimension != nil:
		return badRequest("%s__%s: %s filters dimensions, and %s is a metric: use lt, lte, gt, gte, eq or ne", target, op, op, target)
	case ofMetric && noMetric != nil:
		return badRequest("%s__%s: %s filters metrics, and %s is a dimension: use one of %s", target, op, op, target, strings.Join(dimensionOps, ", "))
	case value == "":
		return nil
	case ofMetric:
		bound, ok := parseNumber(value)
		if !ok {
			return badRequest("%s__%s: %q is not a number", target, op, value)
		}
		q.bounds = append(q.bounds, metricFilter{m, op, bound})
		return nil
	}
	f := dimensionFilter{d, op, foldAll([]string{value})}
	if op == "in" || op == "not_in" {
		f.values = foldAll(filterList(value))
	}
	if len(f.values) == 0 {
		return nil
	}
	if target == "app_token" && op == "in" && !slices.ContainsFunc(s.world.apps, func(a App) bool { return f.keeps(a.Token) }) {
		return badRequest("app_token__in: no apps matching %s", value)
	}
	q.filters = append(q.filters, f)
	return nil
}

// filterList splits a comma list. An entry stands for itself and for what is left without the blanks around it, because
// people write blanks after commas, and campaigns have blanks at their ends.
func filterList(s string) []string {
	out := splitList(s)
	for part := range strings.SplitSeq(s, ",") {
		if strings.TrimSpace(part) != "" && !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	return out
}

var number = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

func parseNumber(s string) (float64, bool) {
	s = strings.TrimSpace(s) // a "+" that was sent unescaped arrives as a blank
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil && number.MatchString(s)
}
