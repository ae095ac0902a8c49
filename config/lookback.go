package config

import (
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/internal/catalog"
)

// Days in which a finished period is still restated: by the service itself, and by ad networks of what they report.
const (
	restated          = 7
	restatedByNetwork = 14
	longestLookback   = 3660
)

// lookback is the value of the key: a number of days, or auto.
type lookback struct {
	auto bool
	days int
}

var lookbackShape = shape[lookback]{
	func(d *decoder, n ast.Node, key string) (lookback, bool) {
		if s, _ := d.textOf(n); s == "auto" {
			return lookback{auto: true}, true
		}
		if _, ok := d.resolve(n).(*ast.IntegerNode); ok {
			days, ok := d.whole(n, key, 0, longestLookback)
			return lookback{days: days}, ok
		}
		d.fail(n, "%s: want auto or a whole number of days from 0 to %d, got %s", key, longestLookback, d.describe(n))
		return lookback{}, false
	},
	func() *jsonschema.Schema {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Const: "auto"}, whole(0, longestLookback).schema()}}
	},
}

// checkLookback works out until when partitions change, from what the catalogue says of the report's metrics.
func (d *decoder) checkLookback(r *Report, p *parts) {
	fields := metricFields(r, p)
	if r.Lookback = p.lookback.days; p.lookback.auto {
		r.Lookback, r.Horizons = automatic(r, fields)
	}
	if r.Period == wholeTable { // fetched whole each time
		r.Horizons = nil
		return
	}
	var growing []string
	var first ast.Node
	for _, f := range fields {
		if f.Accumulates {
			growing = append(growing, f.Slug)
		}
		if f.Accumulates && first == nil {
			first = f.node
		}
	}
	if first == nil {
		return
	}
	d.warn(first, "metrics: %s: such values grow from the install until now, but a %s is fetched for the last time %d days after "+
		"its end and keeps the value of that day; set lookback: to more days, or ask for a cohort metric with a period, "+
		"such as all_revenue_total_d30 or roas_d30", joined(growing), r.Period, max(r.Lookback, slices.Max(append(r.Horizons, 0))))
}

// placed is a metric of the report and its place.
type placed struct {
	catalog.Field
	node ast.Node
}

// metricFields is what the catalogue knows of the metrics that the config spells out.
func metricFields(r *Report, p *parts) []placed {
	var fields []placed
	for _, m := range p.metrics {
		f, known := catalog.Metric(m.text)
		if !known {
			f, known = catalog.Guess(m.text)
		}
		if known {
			fields = append(fields, placed{f, m.node})
		}
	}
	for i, e := range r.Events {
		for _, suffix := range e.Metrics {
			if f, known := catalog.EventMetric(suffix); known {
				fields = append(fields, placed{f, p.events[i]})
			}
		}
	}
	return fields
}

// automatic gives the days in which everything may change, and the ages beyond them at which a cohort becomes final.
func automatic(r *Report, fields []placed) (days int, horizons []int) {
	days = restated
	for _, f := range fields {
		if f.NetworkCost(r.Parameters["ad_spend_mode"][0]) {
			days = restatedByNetwork
		}
	}
	for _, f := range fields {
		if f.Horizon > days {
			horizons = append(horizons, f.Horizon)
		}
	}
	slices.Sort(horizons)
	return days, slices.Compact(horizons)
}
