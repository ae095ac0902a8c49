package config

import (
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/catalog"
)

const eventPrefix = "{e}_"

var (
	trailingPeriod = expr(`_([dwm][0-9]{1,3})$`)
	leadingPeriod  = expr(`^([dwm][0-9]{1,3})_`)
)

// didYouMeanMetric compares with the catalogue's slugs, its patterns filled with the period that the name has.
func didYouMeanMetric(name string) string {
	names := filled(name, trailingPeriod, func(slug string) (string, bool) { return slug, !strings.HasPrefix(slug, eventPrefix) })
	return didYouMean(name, slices.DeleteFunc(names, func(n string) bool { _, ok := catalog.Metric(n); return !ok }))
}

func didYouMeanEventMetric(name string) string {
	names := filled(name, leadingPeriod, func(slug string) (string, bool) { return strings.CutPrefix(slug, eventPrefix) })
	return didYouMean(name, slices.DeleteFunc(names, func(n string) bool { _, ok := catalog.EventMetric(n); return !ok }))
}

func filled(name string, period expression, keep func(slug string) (string, bool)) []string {
	p := "d7"
	if m := period.compiled().FindStringSubmatch(name); m != nil {
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
