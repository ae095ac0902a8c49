package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/reportferry/reportferry/internal/catalog"
)

// PartitionKey is the name of the directory level that carries the partition (dt=2026-01-31). Hive-style readers make a
// column of it, so no column may have the name.
const PartitionKey = "dt"

// columns are the parts of a report that name its columns, with their places, for checks across keys.
type columns struct {
	dimensions, metrics, types []item
	events                     []ast.Node
}

func (d *decoder) dimension(n ast.Node, key string) (string, bool) {
	s, ok := d.text(n, key)
	if !ok {
		return "", false
	}
	if _, ok := catalog.Dimension(s); !ok {
		d.fail(n, "%s: unknown dimension %q%s", key, s, didYouMean(s, catalog.Dimensions()))
		return "", false
	}
	return s, true
}

// checkReport makes the checks that need more than one key, and the defaults that follow from another key.
func (d *decoder) checkReport(r *Report, job ast.Node, at map[string]ast.Node, cols *columns) {
	r.Dimensions, r.Metrics = texts(cols.dimensions), texts(cols.metrics)
	if at["dimensions"] != nil {
		d.checkPage(r, at)
	}
	if at["metrics"] == nil && at["events"] == nil {
		d.fail(job, "a job: want at least one metric, under metrics or events")
	}
	for _, m := range cols.metrics {
		_, known := catalog.Metric(m.text)
		declared := slices.ContainsFunc(cols.types, func(t item) bool { return t.text == m.text })
		_, dimension := catalog.Dimension(m.text)
		switch {
		case dimension:
			d.fail(m.node, "metrics: %s is a dimension; it belongs under dimensions", m.text)
		case !known && !declared:
			d.fail(m.node, "metrics: unknown metric %q%s; types: declares one that the catalogue doesn't know", m.text, didYouMeanMetric(m.text))
		}
	}
	d.checkColumns(r, cols)
}

// finest is the order of the date dimensions, and the page unit and default page of a report whose finest it is.
var finest = []struct {
	dimension string
	page      Page
}{{"hour", Page{7, 'd'}}, {"day", Page{7, 'd'}}, {"week", Page{4, 'w'}}, {"month", Page{1, 'm'}}}

func (d *decoder) checkPage(r *Report, at map[string]ast.Node) {
	for _, f := range finest {
		if !slices.Contains(r.Dimensions, f.dimension) {
			continue
		}
		switch {
		case at["page"] == nil:
			r.Page = f.page
		case r.Page.Unit != 0 && r.Page.Unit != f.page.Unit:
			d.fail(at["page"], "page: %s doesn't fit a report by %s; want a number and %c, such as %s", r.Page, f.dimension, f.page.Unit, f.page)
		}
		return
	}
	if len(r.Dimensions) > 0 {
		d.fail(at["dimensions"], "dimensions: want hour, day, week or month among them; "+
			"a report by quarter or year alone, or without a date, is not part of this version")
	}
}

// columnPattern is what Parquet readers and warehouses take as a name without quoting.
var columnPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)

// checkColumns sees that the columns that are known before the service is asked have good and distinct names.
func (d *decoder) checkColumns(r *Report, cols *columns) {
	lines := map[string]int{}
	add := func(name, key string, n ast.Node) {
		line, taken := lines[strings.ToLower(name)]
		switch {
		case strings.EqualFold(name, PartitionKey):
			d.fail(n, "%s: a column can't be named %s, which is the partition's own key", key, name)
		case !columnPattern.MatchString(name):
			d.fail(n, "%s: %q is no name of a column: want letters, digits and underscores", key, name)
		case taken:
			d.fail(n, "%s: column %s already stands on line %d", key, name, line)
		}
		lines[strings.ToLower(name)] = position(n).Line
	}
	for _, c := range cols.dimensions {
		add(c.text, "dimensions", c.node)
	}
	for _, c := range cols.metrics {
		add(c.text, "metrics", c.node)
	}
	open := false // whether the service's answer will name columns that the file doesn't
	for i, e := range r.Events {
		if e.As == "" && e.Slug == "" {
			open = true
			continue
		}
		for _, m := range e.Metrics {
			add(e.Column(e.Slug, m), "events", cols.events[i])
		}
	}
	for _, t := range cols.types {
		if _, isDimension := catalog.Dimension(t.text); isDimension {
			d.fail(t.node, "types: the type of dimension %s is fixed", t.text)
		} else if _, known := lines[strings.ToLower(t.text)]; !known && !open {
			d.fail(t.node, "types: the job has no column %q%s", t.text, didYouMean(t.text, slices.Sorted(maps.Keys(lines))))
		}
	}
}

func (d *decoder) types(n ast.Node, into map[string]catalog.Type) []item {
	entries, _ := d.collect(n, "types", 0)
	var items []item
	for _, e := range entries {
		items = append(items, item{e.key, e.keyNode})
		s, ok := d.oneOf(e.value, "types", "string", "int64", "decimal", "double")
		if !ok {
			continue
		}
		var t catalog.Type
		if err := t.UnmarshalText([]byte(s)); err != nil {
			d.fail(e.value, "types: %v", err)
			continue
		}
		into[e.key] = t
	}
	return items
}

func (d *decoder) filters(n ast.Node, into map[string][]string) {
	entries, _ := d.collect(n, "filters", 0)
	for _, e := range entries {
		dimension, operator, _ := strings.Cut(e.key, "__")
		f, ok := catalog.Dimension(dimension)
		switch {
		case !ok:
			d.fail(e.keyNode, "filters: %q is no dimension%s", dimension, didYouMean(dimension, catalog.Dimensions()))
		case operator != "in":
			d.fail(e.keyNode, "filters: want %s__in; other operators are not part of this version", dimension)
		case f.Type.IsTime():
			d.fail(e.keyNode, "filters: dates are chosen by start, until and page, not by a filter")
		default:
			into[e.key] = texts(d.list(e.value, e.key, d.value))
		}
	}
}
