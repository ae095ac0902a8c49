package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/internal/catalog"
)

// The operators of the interface document. Those of lists take several values, the others one.
var (
	listOperators   = []string{"in", "not_in"}
	textOperators   = []string{"contains", "exclude", "starts_with", "not_starts_with", "ends_with", "not_ends_with"}
	metricOperators = []string{"lt", "lte", "gt", "gte", "eq", "ne"}

	dimensionOperators = slices.Concat(listOperators, textOperators)
)

func joined(words []string) string { return strings.Join(words, ", ") }

// filters is a mapping of <dimension or metric>__<operator> to values; the metrics go to *metrics.
func filters(metrics *[]item) shape[map[string][]string] {
	return shape[map[string][]string]{
		func(d *decoder, n ast.Node, key string) (map[string][]string, bool) {
			entries, ok := d.collect(n, key, 0)
			into := map[string][]string{}
			for _, e := range entries {
				if values, ok := d.filter(e, metrics); ok {
					into[e.key] = values
				}
			}
			return into, ok
		},
		filtersSchema,
	}
}

// filter reads the values of one filter. The operator follows the last double underscore, because the slug of an
// event's metric may hold others.
func (d *decoder) filter(e entry, metrics *[]item) ([]string, bool) {
	subject, operator := e.key, ""
	if i := strings.LastIndex(e.key, "__"); i >= 0 {
		subject, operator = e.key[:i], e.key[i+2:]
	}
	f, isDimension := catalog.Dimension(subject)
	_, isMetric := catalog.Metric(subject)
	compares := slices.Contains(metricOperators, operator)
	switch {
	case isDimension && f.Type.IsTime():
		d.fail(e.keyNode, "filters: dates are chosen by start, until and page, not by a filter")
	case isDimension && slices.Contains(listOperators, operator):
		return textsOf(value).read(d, e.value, e.key)
	case isDimension && slices.Contains(textOperators, operator):
		return single(word.read(d, e.value, e.key))
	case isDimension:
		d.fail(e.keyNode, "filters: %q: a dimension's operators are %s, as in %s__in", e.key, joined(dimensionOperators), subject)
	case compares && columnPattern.MatchString(subject):
		*metrics = append(*metrics, item{subject, e.keyNode})
		if v, ok := d.number(e.value, e.key); ok {
			return []string{strconv.FormatFloat(v, 'f', -1, 64)}, true
		}
	case isMetric:
		d.fail(e.keyNode, "filters: %q: a metric's operators are %s, as in %s__gt", e.key, joined(metricOperators), subject)
	case slices.Contains(dimensionOperators, operator):
		d.fail(e.keyNode, "filters: %q is no dimension%s", subject, didYouMean(subject, catalog.Dimensions()))
	default:
		d.fail(e.keyNode, "filters: %q is no filter; want a dimension and one of %s, as in network__in; or a metric and one of %s, as in installs__gt",
			e.key, joined(dimensionOperators), joined(metricOperators))
	}
	return nil, false
}

func single(s string, ok bool) ([]string, bool) { return []string{s}, ok }

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
			key(alternatives(filterable), listOperators):             textsOf(value).schema(),
			key(alternatives(filterable), textOperators):             word.schema(),
			key("[A-Za-z_][A-Za-z0-9_]*", metricOperators):           ofType("number"),
			key(alternatives(catalog.Dimensions()), metricOperators): jsonschema.FalseSchema,
		},
	}
}
