package report

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/facts"
	"github.com/reportferry/reportferry/internal/emulator/metrics"
	"github.com/reportferry/reportferry/internal/emulator/reading"
	"github.com/reportferry/reportferry/internal/emulator/wire"
	"github.com/reportferry/reportferry/internal/lazy"
)

// dimensionOps are the operators of filters <dimension>__op; those of metrics are
// metrics.MetricOps.
var dimensionOps = []string{"in", "not_in", "contains", "exclude", "starts_with", "not_starts_with", "ends_with",
	"not_ends_with"}

// readFilters reads os_names, drilldown and every <dimension>__op and <metric>__op; a row must
// pass all of them. Unknown names and operators are errors: ignoring them would give an answer
// with too many rows.
func (s *Service) readFilters(q *request, v url.Values) *wire.Error {
	filters := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if slices.Contains(parameters, name) {
			continue
		}
		target, op, known := s.filterOf(name)
		if !known {
			continue
		}
		filters[name] = true
		if err := s.readFilter(q, target, op, v.Get(name)); err != nil {
			return err
		}
	}
	known := func(name string) bool { return filters[name] || slices.Contains(parameters, name) }
	if err := s.refuseUnknown(v, known); err != nil {
		return err
	}
	if names := splitList(v.Get("os_names")); len(names) > 0 {
		for _, n := range names {
			if !slices.Contains(osNames, strings.ToLower(n)) {
				return wire.BadRequest("os_names: %q is not one of %s", n, strings.Join(osNames, ", "))
			}
		}
		d, _ := metrics.FindDimension("os_name")
		q.Filters = append(q.Filters, metrics.DimensionFilter{Dimension: d, Op: "in", Values: metrics.FoldAll(names)})
	}
	if name, id, ok := strings.Cut(v.Get("drilldown"), ":"); ok {
		i := slices.IndexFunc(dependencyRules, func(r struct{ name, id string }) bool { return r.name == name })
		if i < 0 {
			return wire.BadRequest("drilldown: %q is no dimension that has IDs", name)
		}
		if err := s.readFilter(q, dependencyRules[i].id, "in", `"`+id+`"`); err != nil {
			return err
		}
	}
	if v.Get("app_token__in") == "" && s.opts.Readings.Is(reading.ListOfApps, "needed") {
		d, _ := metrics.FindDimension("network")
		q.Filters = append(q.Filters, metrics.DimensionFilter{Dimension: d, Op: "not_in",
			Values: metrics.FoldAll(newerTrackers)})
	}
	q.KeepSlices(s.account.Apps)
	return nil
}

// newerTrackers are networks that are missing from a report without app_token__in, under the
// reading that a list of apps is needed: the service then filters by a list of trackers that lacks
// newer ones. Source: the author of a client saw them missing.
var newerTrackers = []string{"AppLovin", "TikTok for Business"}

// withoutData is the token of an app that exists under some readings but has no data.
const withoutData = "0app0no0data"

// readFilter adds one filter to q: of a dimension to q.Filters, of a metric to q.Bounds. An empty
// value adds none.
func (s *Service) readFilter(q *request, target, op, value string) *wire.Error {
	_, ofMetric := metrics.MetricOps[op]
	ofDimension := slices.Contains(dimensionOps, op)
	d, noDimension := s.dimension(target)
	m, noMetric := s.glossary.Find(target)
	switch {
	case noDimension != nil && noMetric != nil:
		return wire.BadRequest("%s__%s: %q is neither a dimension nor a metric", target, op, target)
	case !ofDimension && !ofMetric:
		return wire.BadRequest("%s__%s: there is no operator %q; dimensions have %s, and metrics lt, lte, gt, gte, "+
			"eq and ne", target, op, op,
			strings.Join(dimensionOps, ", "))
	case ofDimension && noDimension != nil:
		return wire.BadRequest("%s__%s: %s filters dimensions, and %s is a metric: use lt, lte, gt, gte, eq or ne",
			target, op, op, target)
	case ofMetric && noMetric != nil:
		return wire.BadRequest("%s__%s: %s filters metrics, and %s is a dimension: use one of %s", target, op, op,
			target, strings.Join(dimensionOps, ", "))
	case value == "":
		return nil
	case ofMetric:
		bound, ok := parseNumber(value)
		if !ok {
			return wire.BadRequest("%s__%s: %q is not a number", target, op, value)
		}
		q.Bounds = append(q.Bounds, metrics.MetricFilter{Metric: m, Op: op, Bound: bound})
		return nil
	}
	f := metrics.DimensionFilter{Dimension: d, Op: op, Values: metrics.FoldAll([]string{value})}
	if op == "in" || op == "not_in" {
		list := filterList(value)
		if target == "channel_id" {
			list = channelIDs(list)
		}
		f.Values = metrics.FoldAll(list)
	}
	if len(f.Values) == 0 {
		return nil
	}
	if target == "app_token" && op == "in" {
		dataless := f.Keeps(withoutData) // the list has the app without data
		switch s.opts.Readings.Of(reading.AppWithoutData) {
		case "none":
			dataless = false
		case "400":
			if dataless {
				return wire.BadRequest("app_token__in: there is no data of the app %s", withoutData)
			}
		case "403":
			if dataless {
				return wire.Forbidden("No access to the data of the app " + withoutData)
			}
		}
		known := dataless || slices.ContainsFunc(s.account.Apps, func(a facts.App) bool { return f.Keeps(a.Token) })
		if !known && s.opts.Readings.Is(reading.UnknownApps, "400") {
			return wire.BadRequest("app_token__in: no apps matching %s", value)
		}
	}
	q.Filters = append(q.Filters, f)
	return nil
}

// filterList splits a comma-separated list. It returns each entry as it stands, and also without
// the blanks and quotes around it, because people write blanks after commas, dashboards quote
// values, and names of campaigns may have both. A comma within quotes belongs to the value.
func filterList(s string) []string {
	out := splitList(s)
	more := append(strings.Split(s, ","), quotedValues(s)...)
	for _, part := range more {
		if strings.TrimSpace(part) != "" && !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	return out
}

// quotedValues returns the quoted values of a comma-separated list, without their quotes.
func quotedValues(s string) (out []string) {
	for s != "" {
		if s = strings.TrimLeft(s, " "); strings.HasPrefix(s, `"`) {
			for end := 1; end < len(s); end++ {
				if rest := strings.TrimLeft(s[end+1:], " "); s[end] == '"' && (rest == "" || rest[0] == ',') {
					out = append(out, s[1:end])
					s = rest
					break
				}
			}
		}
		_, s, _ = strings.Cut(s, ",")
	}
	return out
}

// channelIDs returns channel IDs in the form partner_34. The dashboard also writes 34, and several
// IDs of one channel separated by bars: 34|35.
func channelIDs(list []string) (out []string) {
	for _, entry := range list {
		for id := range strings.SplitSeq(entry, "|") {
			if _, err := strconv.Atoi(strings.TrimSpace(id)); err == nil {
				id = "partner_" + strings.TrimSpace(id)
			}
			out = append(out, id)
		}
	}
	return out
}

// numberForm matches a decimal, with an exponent or without.
var numberForm = lazy.Regexp(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

// parseNumber reads a bound: a decimal, with an exponent or without.
func parseNumber(s string) (float64, bool) {
	s = strings.TrimSpace(s) // a "+" that was sent unescaped arrives as a blank
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil && numberForm().MatchString(s)
}
