package kinds

import (
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/catalog"
)

// metric reads any slug. Its schema lets an editor complete those that the catalogue spells out.
var metric = strict.Shape[string]{
	Read: strict.Text.Read,
	Schema: func() *jsonschema.Schema {
		known := slices.DeleteFunc(catalog.Metrics(), func(slug string) bool { return strings.Contains(slug, "{") })
		return &jsonschema.Schema{Type: "string", AnyOf: []*jsonschema.Schema{strict.OneOf(known...).Schema(),
			{Pattern: "^[^,]+$"}}}
	},
}

// checkMetrics decides the types of metrics that the catalogue lacks, and checks those that filters
// compare. The service has more metrics than any list of them, so an unknown one is asked for,
// under a type that holds whatever number comes.
func checkMetrics(d *strict.Decoder, r *Report, p *parts) {
	for _, m := range p.metrics {
		column := catalog.ColumnName(m.Text)
		_, known := catalog.Metric(m.Text)
		guess, guessed := catalog.Guess(m.Text)
		_, dimension := catalog.Dimension(m.Text)
		declared := slices.ContainsFunc(p.types, func(t strict.Item) bool { return t.Text == column })
		switch {
		case dimension:
			d.Fail(m.Node, "metrics: %s is a dimension; it belongs under dimensions", m.Text)
		case known || declared:
		case guessed:
			r.Types[column] = guess.Type
		default:
			r.Types[column] = catalog.Double
			days, _ := catalog.Described(m.Text, "", "").FinalAfter("")
			d.Warn(m.Node, "metrics: the catalogue doesn't know %s%s the service is asked for it, its column is "+
				"DOUBLE and counts "+
				"as final %d days after the period; types: sets another type and ends this warning", m.Text,
				otherwise(didYouMeanMetric(m.Text)), days)
		}
	}
	for _, m := range p.filtered {
		_, known := catalog.Metric(m.Text)
		_, guessed := catalog.Guess(m.Text)
		if slices.Contains(r.Dimensions, m.Text) {
			d.Fail(m.Node, "filters: %s is a dimension, whose operators are %s, as in %s__in", m.Text,
				strings.Join(dimensionOperators, ", "), m.Text)
		} else if !known && !guessed && !slices.Contains(r.Metrics, m.Text) {
			d.Warn(m.Node, "filters: the catalogue doesn't know the metric %s%s; the service is asked to compare it",
				m.Text, didYouMeanMetric(m.Text))
		}
	}
}

// otherwise joins, in a message, the hint at what was likely meant with what is done if it wasn't.
func otherwise(meant string) string {
	if meant == "" {
		return ";"
	}
	return meant + " Otherwise"
}

const eventPrefix = "{e}_" // begins the slugs of events' metrics in the catalogue

var (
	trailingPeriod = strict.Expr(`_([dwm][0-9]{1,3})$`)
	leadingPeriod  = strict.Expr(`^([dwm][0-9]{1,3})_`)
)

// didYouMeanMetric returns a hint at the catalogue's slug that resembles a name, if there is one.
// Slugs with a period are compared with the period that the name has.
func didYouMeanMetric(name string) string {
	if m := leadingPeriod.Submatch(name); m != nil { // the place that it has in metrics of events
		turned := strings.TrimPrefix(name, m[0]) + "_" + m[1]
		if _, ok := catalog.Metric(turned); ok {
			return "; did you mean " + turned + "?"
		}
	}
	for _, slug := range catalog.Metrics() {
		f, _ := catalog.Line(slug)
		// The name may be what the dashboard calls the metric.
		if label, _, _ := strings.Cut(f.Description, " = "); catalog.SameWord(label, name) && slug != name {
			return "; did you mean " + slug + "?"
		}
	}
	names := slugs(name, trailingPeriod, func(slug string) (string, bool) {
		return slug, !strings.HasPrefix(slug, eventPrefix)
	})
	return strict.DidYouMean(name, slices.DeleteFunc(names, func(n string) bool {
		_, ok := catalog.Metric(n)
		return !ok
	}))
}

// didYouMeanEventMetric returns a hint at the catalogue's ending that resembles what follows an
// event's slug, if there is one.
func didYouMeanEventMetric(name string) string {
	names := slugs(name, leadingPeriod, func(slug string) (string, bool) {
		return strings.CutPrefix(slug, eventPrefix)
	})
	return strict.DidYouMean(name, slices.DeleteFunc(names, func(n string) bool {
		_, ok := catalog.EventMetric(n)
		return !ok
	}))
}

// slugs lists the catalogue's slugs that keep accepts, as keep returns them. {p}, which stands for
// any period, is replaced by the period of name, so that only the rest of the two is compared.
func slugs(name string, period strict.Expression, keep func(slug string) (string, bool)) []string {
	p := "d7"
	if m := period.Submatch(name); m != nil {
		p = m[1]
	}
	var names []string
	for _, slug := range catalog.Metrics() {
		if s, ok := keep(slug); ok {
			names = append(names, strings.ReplaceAll(s, "{p}", p))
		}
	}
	return names
}
