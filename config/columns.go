package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/internal/catalog"
)

// PartitionKey is the name of the directory level that carries the partition (dt=2026-01-31). Hive-style readers make a
// column of it, so no column may have the name.
const PartitionKey = "dt"

// parts are what of a report is checked across keys, with its places.
type parts struct {
	dimensions, metrics, types []item
	filtered                   []item // metrics that a filter compares
	events                     []ast.Node
	lookback                   lookback
}

var dimension = shape[string]{
	func(d *decoder, n ast.Node, key string) (string, bool) {
		s, ok := d.text(n, key)
		if !ok {
			return "", false
		}
		if _, ok := catalog.Dimension(s); !ok {
			d.fail(n, "%s: unknown dimension %q%s", key, s, didYouMean(s, catalog.Dimensions()))
			return "", false
		}
		return s, true
	},
	func() *jsonschema.Schema { return oneOf(catalog.Dimensions()...).schema() },
}

// metric is any name of a column; an editor completes the ones that the catalogue spells out.
var metric = shape[string]{
	(*decoder).text,
	func() *jsonschema.Schema {
		known := slices.DeleteFunc(catalog.Metrics(), func(slug string) bool { return strings.Contains(slug, "{") })
		return &jsonschema.Schema{Type: "string", AnyOf: []*jsonschema.Schema{oneOf(known...).schema(), {Pattern: columnPattern.String()}}}
	},
}

// checkReport makes the checks that need more than one key, and the defaults that follow from another key.
func (d *decoder) checkReport(j *Job, job ast.Node, at map[string]ast.Node, p *parts) {
	r := j.Report
	r.Dimensions, r.Metrics = texts(p.dimensions), texts(p.metrics)
	if len(p.dimensions) > 0 {
		d.checkPeriod(r, at)
	}
	d.checkTimezone(j, at)
	if at["metrics"] == nil && at["events"] == nil {
		d.fail(job, "a job: want at least one metric, under metrics or events")
	}
	d.checkMetrics(r, p)
	d.checkColumns(r, p)
	d.checkLookback(r, p)
}

// checkMetrics settles the types of metrics that the catalogue lacks. The service has more metrics than any list of
// them, so an unknown one is asked for, under a type that holds whatever number comes.
func (d *decoder) checkMetrics(r *Report, p *parts) {
	for _, m := range p.metrics {
		_, known := catalog.Metric(m.text)
		guess, guessed := catalog.Guess(m.text)
		_, dimension := catalog.Dimension(m.text)
		declared := slices.ContainsFunc(p.types, func(t item) bool { return t.text == m.text })
		switch {
		case dimension:
			d.fail(m.node, "metrics: %s is a dimension; it belongs under dimensions", m.text)
		case known || declared:
		case guessed:
			r.Types[m.text] = guess.Type
		default:
			r.Types[m.text] = catalog.Double
			d.warn(m.node, "metrics: the catalogue doesn't know %s%s; the service is asked for it, and its column is DOUBLE; "+
				"types: sets another type and ends this warning", m.text, didYouMeanMetric(m.text))
		}
	}
	for _, m := range p.filtered {
		_, known := catalog.Metric(m.text)
		_, guessed := catalog.Guess(m.text)
		if !known && !guessed && !slices.Contains(r.Metrics, m.text) {
			d.warn(m.node, "filters: the catalogue doesn't know the metric %s%s; the service is asked to compare it", m.text, didYouMeanMetric(m.text))
		}
	}
}

// columnPattern is what Parquet readers and warehouses take as a name without quoting.
var columnPattern = expr(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)

// checkColumns sees that the columns that are known before the service is asked have good and distinct names.
func (d *decoder) checkColumns(r *Report, p *parts) {
	lines := map[string]int{}
	add := func(name, key string, n ast.Node) {
		line, taken := lines[catalog.Fold(name)]
		switch {
		case catalog.SameWord(name, PartitionKey):
			d.fail(n, "%s: a column can't be named %s, which is the partition's own key", key, name)
		case !columnPattern.MatchString(name):
			d.fail(n, "%s: %q is no name of a column: want letters, digits and underscores", key, name)
		case taken:
			d.fail(n, "%s: column %s already stands on line %d", key, name, line)
		}
		lines[catalog.Fold(name)] = position(n).Line
	}
	for _, c := range p.dimensions {
		add(c.text, "dimensions", c.node)
	}
	for _, c := range p.metrics {
		add(c.text, "metrics", c.node)
	}
	open := false // whether the service's answer will name columns that the file doesn't
	for i, e := range r.Events {
		if e.As == "" && e.Slug == "" {
			open = true
			continue
		}
		for _, m := range e.Metrics {
			add(e.Column(e.Slug, m), "events", p.events[i])
		}
	}
	for _, t := range p.types {
		if _, isDimension := catalog.Dimension(t.text); isDimension {
			d.fail(t.node, "types: the type of dimension %s is fixed", t.text)
		} else if _, known := lines[catalog.Fold(t.text)]; !known && !open {
			d.fail(t.node, "types: the job has no column %q%s", t.text, didYouMean(t.text, slices.Sorted(maps.Keys(lines))))
		}
	}
}

var columnType = oneOf(catalog.String.String(), catalog.Int64.String(), catalog.Decimal.String(), catalog.Double.String())

// types is a mapping of columns to types; the columns go to *columns.
func types(columns *[]item) shape[map[string]catalog.Type] {
	return shape[map[string]catalog.Type]{
		func(d *decoder, n ast.Node, key string) (map[string]catalog.Type, bool) {
			entries, ok := d.collect(n, key, 0)
			into := map[string]catalog.Type{}
			for _, e := range entries {
				*columns = append(*columns, item{e.key, e.keyNode})
				s, ok := columnType.read(d, e.value, key)
				if !ok {
					continue
				}
				var t catalog.Type
				if err := t.UnmarshalText([]byte(s)); err != nil {
					d.fail(e.value, "%s: %v", key, err)
					continue
				}
				into[e.key] = t
			}
			return into, ok
		},
		func() *jsonschema.Schema {
			return &jsonschema.Schema{Type: "object", AdditionalProperties: columnType.schema()}
		},
	}
}
