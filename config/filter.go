package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/catalog"
)

// The operators of the interface document. Those of lists take several values, the others one.
var (
	listOperators   = []string{"in", "not_in"}
	textOperators   = []string{"contains", "exclude", "starts_with", "not_starts_with", "ends_with", "not_ends_with"}
	metricOperators = []string{"lt", "lte", "gt", "gte", "eq", "ne"}

	dimensionOperators = slices.Concat(listOperators, textOperators)
)

// filters is a mapping of <dimension or metric>__<operator> to values. The metrics go to *metrics.
func filters(metrics *[]strict.Item) strict.Shape[map[string][]string] {
	return strict.MapOf(func(d *strict.Decoder, e strict.Entry, _ string) ([]string, bool) {
		return filter(d, e, metrics)
	}, filtersSchema)
}

// filter reads the values of one filter. The operator follows the last double underscore, because the slug of an event's
// metric may hold others.
func filter(d *strict.Decoder, e strict.Entry, metrics *[]strict.Item) ([]string, bool) {
	subject, operator := e.Key, ""
	if i := strings.LastIndex(e.Key, "__"); i >= 0 {
		subject, operator = e.Key[:i], e.Key[i+2:]
	}
	f, isDimension := catalog.Dimension(subject)
	_, isMetric := catalog.Metric(subject)
	forDimensions, forMetrics := strings.Join(dimensionOperators, ", "), strings.Join(metricOperators, ", ")
	compares := slices.Contains(metricOperators, operator)
	switch {
	case isDimension && f.Type.IsTime():
		d.Fail(e.KeyNode, "filters: dates are chosen by start, until and page, not by a filter")
	case isDimension && slices.Contains(listOperators, operator):
		return strict.TextsOf(value).Read(d, e.Value, e.Key)
	case isDimension && slices.Contains(textOperators, operator):
		s, ok := strict.Word.Read(d, e.Value, e.Key)
		return []string{s}, ok
	case isDimension:
		d.Fail(e.KeyNode, "filters: %q: a dimension's operators are %s, as in %s__in", e.Key, forDimensions, subject)
	case compares && columnForm.MatchString(subject):
		*metrics = append(*metrics, strict.Item{Text: subject, Node: e.KeyNode})
		if v, ok := strict.Number.Read(d, e.Value, e.Key); ok {
			return []string{strconv.FormatFloat(v, 'f', -1, 64)}, true
		}
	case isMetric:
		d.Fail(e.KeyNode, "filters: %q: a metric's operators are %s, as in %s__gt", e.Key, forMetrics, subject)
	case slices.Contains(dimensionOperators, operator):
		d.Fail(e.KeyNode, "filters: unknown dimension %q%s", subject, strict.DidYouMean(subject, catalog.Dimensions()))
	default:
		d.Fail(e.KeyNode, "filters: unknown filter %q; want a dimension and one of %s, as in network__in; or a metric and one of %s, as in installs__gt",
			e.Key, forDimensions, forMetrics)
	}
	return nil, false
}

// filtersSchema says the same as patterns of keys. The last pattern refuses comparisons of dimensions, which the one before it
// would allow.
func filtersSchema() *jsonschema.Schema {
	filterable := slices.DeleteFunc(catalog.Dimensions(), func(name string) bool {
		f, _ := catalog.Dimension(name)
		return f.Type.IsTime()
	})
	key := func(subjects string, operators []string) string {
		return "^" + subjects + "__(" + strings.Join(operators, "|") + ")$"
	}
	alternatives := func(names []string) string { return "(" + strings.Join(names, "|") + ")" }
	return &jsonschema.Schema{
		Type: "object", AdditionalProperties: jsonschema.FalseSchema,
		PatternProperties: map[string]*jsonschema.Schema{
			key(alternatives(filterable), listOperators):             strict.TextsOf(value).Schema(),
			key(alternatives(filterable), textOperators):             strict.Word.Schema(),
			key("[A-Za-z_][A-Za-z0-9_]*", metricOperators):           strict.Number.Schema(),
			key(alternatives(catalog.Dimensions()), metricOperators): jsonschema.FalseSchema,
		},
	}
}
