package kinds

import (
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/shape"
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

// filters reads a mapping of <dimension or metric>__<operator> to values. It appends the metrics to
// p.filtered, and the dimensions that the catalogue lacks to p.filteredDimensions.
func filters(p *parts) strict.Shape[map[string][]string] {
	return strict.MapOf(func(d *strict.Decoder, e strict.Entry, _ string) ([]string, bool) {
		return filter(d, e, p)
	}, filtersSchema)
}

// filter reads the values of one filter. The operator follows the last double underscore, because
// the slug of an event's metric may hold others.
func filter(d *strict.Decoder, e strict.Entry, p *parts) ([]string, bool) {
	subject, operator := e.Key, ""
	if i := strings.LastIndex(e.Key, "__"); i >= 0 {
		subject, operator = e.Key[:i], e.Key[i+2:]
	}
	f, isDimension := catalog.Dimension(subject)
	_, isMetric := catalog.Metric(subject)
	forDimensions, forMetrics := strings.Join(dimensionOperators, ", "), strings.Join(metricOperators, ", ")
	compares := slices.Contains(metricOperators, operator)
	if !isDimension && !isMetric && slices.Contains(dimensionOperators, operator) &&
		shape.ColumnForm.MatchString(subject) {
		isDimension = true // one that the catalogue lacks
		p.filteredDimensions = append(p.filteredDimensions, strict.Item{Text: subject, Node: e.KeyNode})
	}
	switch {
	case isDimension && f.Type.IsTime():
		d.Fail(e.KeyNode, "filters: dates are chosen by start, until and page, not by a filter")
	case isDimension && slices.Contains(listOperators, operator):
		return strict.TextsOf(shape.Value).Read(d, e.Value, e.Key)
	case isDimension && slices.Contains(textOperators, operator):
		s, ok := strict.Word.Read(d, e.Value, e.Key)
		return []string{s}, ok
	case isDimension:
		d.Fail(e.KeyNode, "filters: %s: want a dimension's operator behind the name, as in %s__in: [...]; there are %s",
			e.Key, subject, forDimensions)
	case compares && !isDimension && subject != "":
		p.filtered = append(p.filtered, strict.Item{Text: subject, Node: e.KeyNode})
		if v, ok := strict.Number.Read(d, e.Value, e.Key); ok {
			return []string{strconv.FormatFloat(v, 'f', -1, 64)}, true
		}
	case isMetric:
		d.Fail(e.KeyNode, "filters: %s: want a metric's operator behind the name, as in %s__gt: 0; there are %s", e.Key,
			subject, forMetrics)
	default:
		d.Fail(e.KeyNode, "filters: unknown filter %q; want a dimension and one of %s, as in network__in; or a "+
			"metric and one of %s, as in installs__gt",
			e.Key, forDimensions, forMetrics)
	}
	return nil, false
}

// filtersSchema expresses the rules of filter as patterns of keys. The last two patterns refuse
// comparisons of dimensions and filters of dates, which the patterns before them would allow.
func filtersSchema() *jsonschema.Schema {
	dates := slices.DeleteFunc(catalog.Dimensions(), func(name string) bool {
		f, _ := catalog.Dimension(name)
		return !f.Type.IsTime()
	})
	const anyName = "[A-Za-z_][A-Za-z0-9_]*"
	key := func(subjects string, operators []string) string {
		return "^" + subjects + "__(" + strings.Join(operators, "|") + ")$"
	}
	alternatives := func(names []string) string { return "(" + strings.Join(names, "|") + ")" }
	return &jsonschema.Schema{
		Type: "object", AdditionalProperties: jsonschema.FalseSchema,
		PatternProperties: map[string]*jsonschema.Schema{
			key(anyName, listOperators):                              strict.TextsOf(shape.Value).Schema(),
			key(anyName, textOperators):                              strict.Word.Schema(),
			key(".+", metricOperators):                               strict.Number.Schema(),
			key(alternatives(catalog.Dimensions()), metricOperators): jsonschema.FalseSchema,
			key(alternatives(dates), dimensionOperators):             jsonschema.FalseSchema,
		},
	}
}
