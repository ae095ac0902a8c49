// Package catalog knows every dimension and metric of the service by name, with its type. Without it, types would be
// sniffed from data, and a column would change its type on the first day without a decimal point.
//
// The tables are written from the service's own metrics glossary (a dump of 2023 with the additions known since).
package catalog

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed dimensions.tsv
var dimensionsTSV string

//go:embed metrics.tsv
var metricsTSV string

// Field is one dimension or metric.
type Field struct {
	Slug        string // as asked for; for a pattern: the pattern
	Type        Type
	Unit        string // count, money, fraction, seconds or number; empty for a dimension
	Additive    bool   // the sum over a partition's rows means something
	Description string
}

var (
	dimensions = readDimensions()
	metrics    = readMetrics()
	patterns   = compilePatterns(metrics)
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
	return patterns.match(slug, false)
}

// EventMetric finds what follows an event's slug in the slug of one of its metrics: "events", "revenue",
// "d7_revenue_cohort".
func EventMetric(suffix string) (Field, bool) {
	return patterns.match("x_"+suffix, true)
}

// Dimensions lists the names of all dimensions, sorted.
func Dimensions() []string { return sortedKeys(dimensions) }

// Metrics lists the slugs and patterns of all metrics, sorted.
func Metrics() []string { return sortedKeys(metrics) }

func sortedKeys(m map[string]Field) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
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
	for _, cells := range rows(metricsTSV, 5) {
		m[cells[0]] = Field{
			Slug: cells[0], Type: mustType(cells[1]), Unit: cells[2], Additive: cells[3] == "yes", Description: cells[4],
		}
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
