// Package catalog knows every dimension and metric of the service by name: its type, which sums of it mean something,
// and when it is final. Without it, types would be sniffed from data, a column would change its type on the first day
// without a decimal point, and rates would be added up.
//
// The tables are written from the service's own metrics glossary (a dump of 2023 with the additions known since). What
// is additive is stated of each metric by hand. Two statements are careful readings: bounds and estimates of SKAN are
// sums over postbacks, hence additive; installs that several networks assisted are counted by each of them, hence not.
package catalog

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:embed dimensions.tsv
var dimensionsTSV string

//go:embed metrics.tsv
var metricsTSV string

var (
	dimensions = readDimensions()
	metrics    = readMetrics()
	patterns   = readPatterns(metrics)
)

// Dimension finds a dimension by its name.
func Dimension(name string) (Field, bool) {
	f, ok := dimensions[name]
	return f, ok
}

// Metric finds a metric by its slug: a fixed one, or one that a pattern covers (retained_users_d7). Event metrics are
// found by EventMetric, because an event's slug is the account's own.
func Metric(slug string) (Field, bool) {
	if f, ok := metrics[slug]; ok && !strings.Contains(slug, "{") {
		return f, true
	}
	f, _, ok := patterns.match(slug, false, Metric)
	return f, ok
}

// EventMetric finds what follows an event's slug in the slug of one of its metrics: "events", "revenue",
// "d7_revenue_cohort". The Field's Slug is that suffix.
func EventMetric(suffix string) (Field, bool) {
	f, event, ok := patterns.match(anyEvent+"_"+suffix, true, nil)
	if !ok || event != anyEvent { // the suffix holds a part of the event's slug
		return Field{}, false
	}
	f.Slug = suffix
	return f, true
}

// Guess takes a slug that Metric doesn't know for an event's metric by its ending, whatever precedes it:
// purchase_events, level_up_d7_revenue_cohort. Whether there is such an event only the service knows.
func Guess(slug string) (Field, bool) {
	if _, known := Metric(slug); known {
		return Field{}, false
	}
	if f, _, ok := patterns.match(slug, false, Guess); ok { // a moving average of an event's metric
		return f, true
	}
	f, _, ok := patterns.match(slug, true, nil)
	return f, ok
}

// Dimensions lists the names of all dimensions, sorted.
func Dimensions() []string { return sortedKeys(dimensions) }

// Metrics lists the slugs and patterns of all metrics, sorted. A pattern has placeholders: {p} is a cohort's period,
// {e} an event's slug, {m} another metric.
func Metrics() []string { return sortedKeys(metrics) }

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

func readDimensions() map[string]Field {
	m := map[string]Field{}
	for _, cells := range rows(dimensionsTSV, 3) {
		m[cells[0]] = Field{Slug: cells[0], Type: mustType(cells[1]), Description: cells[2]}
	}
	return m
}

func readMetrics() map[string]Field {
	m := map[string]Field{}
	for _, cells := range rows(metricsTSV, 8) {
		slug, dated, horizon := cells[0], cells[4], cells[5]
		f := Field{
			Slug: slug, Type: mustType(cells[1]), Unit: cells[2], Additive: must(additives, cells[3]),
			Accumulates: horizon == "now", spend: cells[6], Description: cells[7],
		}
		if dated != anyMetric { // else it is that of the metric inside the slug, as are horizon and spend
			f.Dated = must(dates, dated)
		}
		m[slug] = f
	}
	return m
}

// rows cuts an embedded table and drops its header. A malformed table is a mistake in this package, so it panics.
func rows(tsv string, width int) [][]string {
	lines := strings.Split(strings.TrimSuffix(tsv, "\n"), "\n")
	out := make([][]string, 0, len(lines)-1)
	for i, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		if len(cells) != width {
			panic(fmt.Sprintf("catalog: line %d has %d cells, want %d", i+2, len(cells), width))
		}
		out = append(out, cells)
	}
	return out
}

func mustType(name string) Type {
	var t Type
	if err := t.UnmarshalText([]byte(name)); err != nil {
		panic("catalog: " + err.Error())
	}
	return t
}

func must[V any](named map[string]V, name string) V {
	v, ok := named[name]
	if !ok {
		panic("catalog: unknown word " + name)
	}
	return v
}
