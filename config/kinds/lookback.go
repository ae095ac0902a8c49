package kinds

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/catalog"
)

const longestLookback = 3660 // ten years of days

// lookback is the value of the key lookback: a number of days, or auto, or probe, which is auto but
// asks for the totals first.
type lookback struct {
	auto, probe bool
	days        int
}

// String returns the value as the file has it.
func (l lookback) String() string {
	switch {
	case l.probe:
		return "probe"
	case l.auto:
		return "auto"
	}
	return strconv.Itoa(l.days)
}

// means says in words until when a partition of the report is fetched again. It is empty when the
// value itself says it.
func (l lookback) means(r *Report) string {
	if r.Period == wholeTable {
		return "the whole table each time"
	}
	text := fmt.Sprintf("%d days", r.Lookback)
	var once []string
	for _, days := range r.Horizons {
		if days > r.Lookback {
			once = append(once, strconv.Itoa(days))
		}
	}
	switch {
	case once != nil:
		return text + ", and once more after " + strings.Join(once, ", ")
	case l.auto:
		return text
	}
	return ""
}

var unitOfDays = strict.Expr(`^[0-9]{1,4}d$`)

var lookbackShape = strict.Shape[lookback]{
	Read: func(d *strict.Decoder, n strict.Node, key string) (lookback, bool) {
		switch v, _ := d.Scalar(n); v.(type) {
		case string:
			if unitOfDays.MatchString(v.(string)) {
				d.Fail(n, "%s: want a whole number of days without a unit, as in %s: %s", key, key,
					strings.TrimSuffix(v.(string), "d"))
				return lookback{}, false
			}
			if v == "auto" || v == "probe" {
				return lookback{auto: true, probe: v == "probe"}, true
			}
		case int64, uint64:
			days, ok := strict.Whole(0, longestLookback).Read(d, n, key)
			return lookback{days: days}, ok
		}
		d.Fail(n, "%s: want auto, probe or a whole number of days from 0 to %d, got %s", key, longestLookback,
			d.Describe(n))
		return lookback{}, false
	},
	Schema: func() *jsonschema.Schema {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{strict.OneOf("auto", "probe").Schema(),
			strict.Whole(0, longestLookback).Schema()}}
	},
}

// checkLookback works out until when partitions change, from what the catalogue says of the
// report's metrics.
func checkLookback(d *strict.Decoder, r *Report, p *parts, finalAfter strict.Node) {
	// How long partitions are fetched again, as the file says or as the metrics need it.
	fields := metricFields(r, p)
	r.Probe = p.lookback.probe
	if r.Lookback = p.lookback.days; p.lookback.auto {
		r.Lookback, r.Horizons = automatic(r, fields)
	}
	if last := slices.Max(append(r.Horizons, r.Lookback)); finalAfter != nil && r.FinalAfter < last {
		d.Warn(finalAfter, "final_after: partitions count as final %d days after their end, and are fetched for the "+
			"last time %d days after "+
			"it, so that finals may change; want at least %dd, or fewer days of lookback and cohort", r.FinalAfter,
			last, last)
	}
	if r.FinalAfter > r.Lookback { // a fetch at that age makes a partition final
		r.Horizons = slices.Compact(slices.Sorted(slices.Values(append(r.Horizons, r.FinalAfter))))
	}
	if r.Period == wholeTable { // the whole table is fetched each time
		r.Horizons = nil
		return
	}
	// Metrics that never stop growing get a warning.
	var growing []string
	var first strict.Node
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
	d.Warn(first, "metrics: %s: such values grow from the install until now, but a %s is fetched for the last time "+
		"%d days after "+
		"its end and keeps the value of that day; set lookback: to more days, or ask for a cohort metric with a "+
		"period, "+
		"such as all_revenue_total_d30 or roas_d30", strings.Join(growing, ", "), r.Period,
		max(r.Lookback, slices.Max(append(r.Horizons, 0))))
}

// A placedField is what the catalogue knows of one metric of the report, and the metric's place in
// the file.
type placedField struct {
	catalog.Field
	node strict.Node
}

// metricFields returns what the catalogue knows of the metrics that the config spells out.
func metricFields(r *Report, p *parts) []placedField {
	var fields []placedField
	for _, m := range p.metrics {
		f, known := catalog.Metric(m.Text)
		if !known {
			f, known = catalog.Guess(m.Text)
		}
		if !known {
			f = catalog.Described(m.Text, "", "")
		}
		fields = append(fields, placedField{f, m.Node})
	}
	for i, e := range r.Events {
		for _, suffix := range e.Metrics {
			f, known := catalog.EventMetric(suffix)
			if !known {
				f = catalog.Described(suffix, "", "")
			}
			fields = append(fields, placedField{f, p.events[i]})
		}
	}
	return fields
}

// automatic returns for how many days everything may change, and at which ages after that a
// partition is fetched once more:
//   - when the period of a cohort metric is over
//   - when this metric is final, because what happened on the period's last day is restated, too
//
// With probe, ages within these days are included, because partitions aren't fetched each night.
func automatic(r *Report, fields []placedField) (days int, horizons []int) {
	days = catalog.Restated
	spend := strings.Join(r.Parameters["ad_spend_mode"], "")
	for _, f := range fields {
		if f.NetworkCost(spend) {
			days = catalog.RestatedByNetwork
		}
	}
	for _, f := range fields {
		final, ever := f.FinalAfter(spend)
		for _, age := range []int{f.Horizon, final} {
			if f.Horizon > 0 && ever && (age > days || r.Probe) {
				horizons = append(horizons, age)
			}
		}
	}
	slices.Sort(horizons)
	return days, slices.Compact(horizons)
}
